"""gRPC channels as every caller opens them: retries only where the server said it was not there."""

import json

import grpc

from hone.rpc.observation import client_interceptors, observed_channel
from hone.rpc.server import MAX_MESSAGE_BYTES

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


def channel(address: str) -> grpc.aio.Channel:
    """Open an asynchronous channel to host:port."""
    return grpc.aio.insecure_channel(address, options=_OPTIONS, interceptors=client_interceptors())


def blocking_channel(address: str) -> grpc.Channel:
    """Open a channel to host:port for synchronous callers."""
    return observed_channel(grpc.insecure_channel(address, options=_OPTIONS))
