"""The errors of gRPC services. Each has one status; an error about input names the field, found and expected."""

import asyncio
import re
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import grpc
from google.protobuf.any_pb2 import Any
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from hone.process.memory import MemoryEnd

_ADDRESS = re.compile(r"\b(?:ipv4|ipv6|unix|dns):\S+\s?")
_ENDS = " ends and is started again: "
_NO_REPEAT = ("grpc-retry-pushback-ms", "-1")
"""Words of a server, by gRPC's own rules, to a channel that would repeat the call."""
_LONGEST_FIELD, _LONGEST_FOUND, _LONGEST_MESSAGE = 200, 200, 1500
"""Characters. A status travels in HTTP headers, twice and encoded, and clients refuse more than 8 KiB of headers."""


class RpcError(Exception):
    """The call cannot be answered."""

    code = grpc.StatusCode.INTERNAL


class InvalidField(RpcError):
    """A field of the request is wrong. The message names the field, the value found and the value expected."""

    code = grpc.StatusCode.INVALID_ARGUMENT

    def __init__(self, field: str, found: object, expected: str) -> None:
        named, seen = short(field, _LONGEST_FIELD), short(repr(found), _LONGEST_FOUND)
        super().__init__(f"{named}: found {seen}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected

    def named(self, roots: Mapping[str, str]) -> "InvalidField":
        """Return the error with other names of fields: `roots` by the first part of their path."""
        root, dot, rest = self.field.partition(".")
        return InvalidField(f"{roots.get(root, root)}{dot}{rest}", self.found, self.expected)


class Unauthenticated(RpcError):
    """The call does not show who makes it."""

    code = grpc.StatusCode.UNAUTHENTICATED


class Forbidden(RpcError):
    """The caller is known, and may not make this call."""

    code = grpc.StatusCode.PERMISSION_DENIED


class NotFound(RpcError):
    """The thing that the request names does not exist."""

    code = grpc.StatusCode.NOT_FOUND


class NotReady(RpcError):
    """Something that the request needs is not there yet. The same call may succeed later."""

    code = grpc.StatusCode.UNAVAILABLE


class Unanswered(NotReady):
    """Somebody elsewhere was asked as often as they may be, and gave no answer.

    The caller decides whether to ask again: no channel repeats the call by itself, as it does where a service is away.
    """


class OverBudget(RpcError):
    """The caller has used its share for now. The same call succeeds later."""

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class Refused(RpcError):
    """The request cannot be served in the present state, and waiting does not change that."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class Unusable(RpcError):
    """The thing that the request names exists but can never be used. The caller is not at fault."""

    code = grpc.StatusCode.DATA_LOSS


class Diverged(RpcError):
    """A session that was rebuilt differs from the session before."""

    code = grpc.StatusCode.DATA_LOSS


class MemoryOver(RpcError):
    """The process ends because its memory is over. This call, or one beside it, may be the cause."""

    code = grpc.StatusCode.ABORTED

    def __init__(self, end: MemoryEnd) -> None:
        super().__init__(f"{end.kind}{_ENDS}{end.why}")


def short(text: str, most: int) -> str:
    """Return a text, or its first `most` characters and how many it has."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def status(error: RpcError) -> status_pb2.Status:
    """Return the rich status of an error, with a BadRequest detail if the error names a field."""
    message = short(str(error), _LONGEST_MESSAGE)
    rich = status_pb2.Status(code=error.code.value[0], message=message)
    if isinstance(error, InvalidField):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=short(error.field, _LONGEST_FIELD), description=message)
        detail = Any()
        detail.Pack(error_details_pb2.BadRequest(field_violations=[violation]))
        rich.details.append(detail)
    return rich


def reason(error: grpc.RpcError) -> str:
    """Return the message of a failed call without addresses, since a tenant may read it."""
    return _ADDRESS.sub("", error.details() or str(error))


def too_long(error: grpc.RpcError) -> bool:
    """Return whether gRPC itself refused a call because its request, or the answer, is longer than a message may be."""
    return error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "message larger than max" in (error.details() or "")


def memory_end(error: BaseException) -> MemoryEnd | None:
    """Return how a process ended during a call because its memory was over; None for another error."""
    if not isinstance(error, grpc.RpcError) or error.code() is not MemoryOver.code:
        return None
    kind, ends, why = (error.details() or "").partition(_ENDS)
    return MemoryEnd(kind, why) if ends else None


async def abort(context: "grpc.aio.ServicerContext[object, object]", error: RpcError) -> None:
    """End a call with the error's rich status."""
    with departed():
        ended: typing.Any = rpc_status.to_status(status(error))  # stubs lack its fields
        if isinstance(error, Unanswered):
            ended = ended._replace(trailing_metadata=(*ended.trailing_metadata, _NO_REPEAT))
        await context.abort_with_status(ended)  # type: ignore[attr-defined]  # stubs lack it


@contextmanager
def departed() -> Iterator[None]:
    """Raise CancelledError for a call that grpc has ended already: its client left, or sent too large a message."""
    try:
        yield
    except grpc.aio.InternalError as gone:
        raise asyncio.CancelledError from gone
