"""One flat family of errors for gRPC borders; each has one status, and bad input names field, found and expected."""

import re

import grpc
from google.protobuf.any_pb2 import Any
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

_ADDRESS = re.compile(r"\b(?:ipv4|ipv6|unix|dns):\S+\s?")


class RpcError(Exception):
    """The call cannot be answered."""

    code = grpc.StatusCode.INTERNAL


class InvalidField(RpcError):
    """A field of the request is wrong: carries its name, what was found and what was expected."""

    code = grpc.StatusCode.INVALID_ARGUMENT

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field = field


class NotFound(RpcError):
    """What the request names does not exist."""

    code = grpc.StatusCode.NOT_FOUND


class NotReady(RpcError):
    """What the request needs is not here yet; the same call may succeed later."""

    code = grpc.StatusCode.UNAVAILABLE


class Refused(RpcError):
    """The request cannot be served in the present state, and waiting will not change that."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class Unusable(RpcError):
    """What the request names is there and cannot be used, through no fault of the caller's, now or later."""

    code = grpc.StatusCode.DATA_LOSS


class Diverged(RpcError):
    """What was rebuilt is not what was there before."""

    code = grpc.StatusCode.DATA_LOSS


def status(error: RpcError) -> status_pb2.Status:
    """Return the rich status of an error, with a BadRequest detail when it names a field."""
    rich = status_pb2.Status(code=error.code.value[0], message=str(error))
    if isinstance(error, InvalidField):
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=str(error))
        detail = Any()
        detail.Pack(error_details_pb2.BadRequest(field_violations=[violation]))
        rich.details.append(detail)
    return rich


def reason(error: grpc.RpcError) -> str:
    """Return what a failed call says, without addresses: a tenant may read it, and is told of no machine."""
    return _ADDRESS.sub("", error.details() or str(error))


async def abort(context: "grpc.aio.ServicerContext[object, object]", error: RpcError) -> None:
    """End a call with the error's rich status."""
    await context.abort_with_status(rpc_status.to_status(status(error)))  # type: ignore[attr-defined]  # stubs lack it
