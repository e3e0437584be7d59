"""Refusals of the simulation service, in the words of the gateway."""

import re
from collections.abc import Callable

import grpc

from hone.rpc import errors
from hone.spec.problems import Invalid, Problem
from services.gateway.middleware.errors import Away, Conflict, NotFound, TooMany

_WRONG = re.compile(r"(?P<field>[^:]+(?:\[[^]]*\])?): found (?P<found>.*), expected (?P<expected>.*)", re.DOTALL)


def refusal(error: grpc.aio.AioRpcError, unknown: str, named: Callable[[Problem], Problem]) -> Exception:
    """Return the refusal of a call. `unknown` is said of what is not there; `named` names a field as the caller did."""
    reason = errors.reason(error)
    match error.code():
        case grpc.StatusCode.INVALID_ARGUMENT:
            return _invalid(reason, named)
        case grpc.StatusCode.NOT_FOUND:
            return NotFound(unknown)
        case grpc.StatusCode.FAILED_PRECONDITION:
            return Conflict(reason.removeprefix("fit_id: "))
        case grpc.StatusCode.RESOURCE_EXHAUSTED if not errors.too_long(error):
            return TooMany(reason)
    return Away(f"The simulation service does not answer: {reason}")


def _invalid(reason: str, named: Callable[[Problem], Problem]) -> Exception:
    wrong = _WRONG.fullmatch(reason)
    if wrong is None:
        return Conflict(reason)
    return Invalid([named(Problem(wrong["field"], wrong["found"], wrong["expected"]))])
