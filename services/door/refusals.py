"""How a service's error is told to a client outside: in words that our services wrote, without what is inside."""

import logging
import re
from collections.abc import Iterable
from typing import Any

import grpc
from google.rpc import status_pb2

_DETAILS = "grpc-status-details-bin"
_log = logging.getLogger(__name__)
_INSIDE = re.compile(
    r"\b[a-z][a-z0-9+]*://\S+"  # URLs
    r"|(?<![\w.:/])/(?:[\w.@+~-]+/)+[\w.@+~-]*"  # paths
    r"|(?:at|to) \"[^\"]*\"(?: \([^)]*\))?, port \d+"  # a server of PostgreSQL
    r"|\b(?:ipv4|ipv6|unix|dns):\S+")
_OWN_WORDS = frozenset({grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND})
"""Statuses whose messages repeat what the client sent."""
_PLAIN = {
    grpc.StatusCode.UNAVAILABLE: "the service is away: the same call may succeed later",
    grpc.StatusCode.DEADLINE_EXCEEDED: "the deadline of the call has passed",
    grpc.StatusCode.CANCELLED: "the call was cancelled",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "the request or its answer is too large",
    grpc.StatusCode.UNIMPLEMENTED: "unknown RPC",
}

Ending = tuple[grpc.StatusCode, str, tuple[tuple[str, bytes], ...]]
"""Status, message and trailing metadata."""


def public(error: grpc.aio.AioRpcError) -> Ending:
    """Return a client's message for a service's error."""
    if error.code() is grpc.StatusCode.UNAUTHENTICATED:
        _log.error("a service refuses the door: %s", error.details())
        return grpc.StatusCode.INTERNAL, "the stack's services and its door have different tokens", ()
    trailing: Iterable[Any] = error.trailing_metadata() or ()
    rich = next((value for name, value in trailing if name == _DETAILS), None)
    if rich is None:  # written by grpc: it names addresses, files and types of Python
        return _plain(error)
    if error.code() in _OWN_WORDS:
        return error.code(), error.details() or "", ((_DETAILS, rich),)
    status = status_pb2.Status.FromString(rich)
    status.message = without_inside(status.message)
    return error.code(), status.message, ((_DETAILS, status.SerializeToString()),)


def _plain(error: grpc.aio.AioRpcError) -> Ending:
    if error.code() in _PLAIN:
        _log.info("a service did not answer: %s", error.details())
        return error.code(), _PLAIN[error.code()], ()
    _log.error("a service failed: %s", error.details())
    return grpc.StatusCode.INTERNAL, "the service failed; its log tells more", ()


def without_inside(message: str) -> str:
    """Return a message without URLs, paths and addresses of the stack."""
    return _INSIDE.sub("…", message)
