"""Limits of a connection to the door before anybody has shown a key: memory, time, places."""

import logging
import resource
from typing import Any

from hone.rpc.server import MAX_MESSAGE_BYTES
from hone.spec.settings import DoorSettings

_SPARE_FILES = 256
"""Open files that the door keeps for its database, its services and its logs."""
_HANDSHAKE_S = 10
_IDLE_S = 300
_OLDEST_S = 1800
_STREAMS = 256
_PING_S = 60
_log = logging.getLogger(__name__)


def options(door: DoorSettings) -> list[tuple[str, Any]]:
    """Return grpc's options for a server that strangers reach.

    A handshake ends after 10 s, a connection without calls after five minutes, and every connection is replaced after
    half an hour: its calls have the time that a call may take, and clients open another without a word.
    """
    return [
        ("grpc.max_receive_message_length", door.message_mb * 2**20),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
        ("grpc.so_reuseport", 0),
        ("grpc.max_allowed_incoming_connections", _places()),
        ("grpc.server_handshake_timeout_ms", 1000 * _HANDSHAKE_S),
        ("grpc.max_connection_idle_ms", 1000 * _IDLE_S),
        ("grpc.max_connection_age_ms", 1000 * _OLDEST_S),
        ("grpc.max_connection_age_grace_ms", 1000 * 3600),
        ("grpc.max_concurrent_streams", _STREAMS),
        ("grpc.keepalive_time_ms", 1000 * _PING_S),
        ("grpc.keepalive_timeout_ms", 1000 * 20),
    ]


def _places() -> int:
    """Return how many connections this process may have: as many as it may have files open, less some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = int(max(_SPARE_FILES, min(hard, 65_536) - _SPARE_FILES))
    _log.info("room for %d connections", most)
    return most
