"""The gRPC channels of every caller. A call is repeated only if the server was not available."""

import json
from typing import cast

import grpc

from hone.rpc import credential, observation
from hone.rpc.calls import CallChannel
from hone.rpc.server import MAX_MESSAGE_BYTES
from hone.telemetry import tracing

TIMEOUT_S = 60.0
"""Deadline, in seconds, of a call that has no deadline of its own."""

_RETRIES = json.dumps({"methodConfig": [{
    "name": [{}],
    "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"]},
}]})
_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.service_config", _RETRIES), ("grpc.enable_retries", 1), ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 100),
]


def channel(address: str, token: str) -> grpc.aio.Channel:
    """Open an asynchronous channel to host:port. Its calls show the stack's token."""
    traced = observation.client_interceptors() if tracing.on() else None
    opened = grpc.aio.insecure_channel(address, options=_OPTIONS, interceptors=traced)
    return cast(grpc.aio.Channel, CallChannel(opened, credential.metadata(token)))


def blocking_channel(address: str, token: str) -> grpc.Channel:
    """Open a channel to host:port for synchronous callers. Its calls show the stack's token."""
    opened = grpc.insecure_channel(address, options=_OPTIONS)
    if tracing.on():
        opened = grpc.intercept_channel(opened, *observation.blocking_interceptors())
    return cast(grpc.Channel, CallChannel(opened, credential.metadata(token)))
