"""Messages between the service and a keeper, on a socket: a JSON header and byte strings. Standard library only."""

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

LENGTHS = struct.Struct("!cII")
"""Before each message: MESSAGE, the bytes of its header, and those of all its parts together."""
MESSAGE, STOP = b"M", b"S"
"""STOP is sent alone, while a program runs: end it."""


def pack(header: dict[str, Any], parts: Sequence[bytes] = ()) -> bytes:
    """Return a message."""
    head = json.dumps({**header, "sizes": [len(part) for part in parts]}).encode()
    return b"".join([LENGTHS.pack(MESSAGE, len(head), sum(map(len, parts))), head, *parts])


def unpack(head: bytes, body: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return header and parts of a message."""
    header = json.loads(head)
    parts, at = list[bytes](), 0
    for size in header.pop("sizes"):
        parts.append(body[at:at + size])
        at += size
    return header, parts


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[bytes]] | None:
    """Return the next message, None at the end of the connection. A STOP that came too late is skipped."""
    while (first := connection.recv(1)) == STOP:
        pass
    if not first:
        return None
    _, head, body = LENGTHS.unpack(first + _exactly(connection, LENGTHS.size - 1))
    return unpack(_exactly(connection, head), _exactly(connection, body))


def _exactly(connection: socket.socket, size: int) -> bytes:
    """Return so many bytes. Raises EOFError if the connection ends before."""
    received = bytearray(size)
    view, at = memoryview(received), 0
    while at < size:
        got = connection.recv_into(view[at:])
        if not got:
            raise EOFError("the connection ended within a message")
        at += got
    return bytes(received)
