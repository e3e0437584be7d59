"""HTTP/2 by hand, for what no gRPC library sends: wrong content types, streams that never end, bytes one by one."""

import socket
import ssl
import struct
from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS = 1, 4
Header = tuple[str, str]


class Connection:
    """A TLS connection to a door, with the preface and empty settings sent."""

    def __init__(self, address: str, certificate: str, greets: bool = True) -> None:
        context = ssl.create_default_context(cafile=certificate)
        context.set_alpn_protocols(["h2"])
        host, _, port = address.rpartition(":")
        self.socket = context.wrap_socket(socket.create_connection((host, int(port)), 10), server_hostname=host)
        if greets:
            self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))

    def open_call(self, stream: int, path: str, headers: Iterable[Header], ends: bool = False) -> None:
        """Send the headers of a call."""
        own = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "door"), ("te", "trailers")]
        block = b"".join(literal(name, value) for name, value in (*own, *headers))
        self.socket.sendall(frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), stream, block))

    def send(self, stream: int, data: bytes, ends: bool = False) -> None:
        """Send data of a call."""
        self.socket.sendall(frame(DATA, END_STREAM if ends else 0, stream, data))

    def ended(self, stream: int, timeout_s: float = 20) -> bytes:
        """Return the last headers of a call as they came; those of a reset are empty.

        Raises TimeoutError, and ConnectionError once the server has closed the connection.
        """
        self.socket.settimeout(timeout_s)
        while True:
            kind, flags, of, payload = self._frame()
            if of == stream and (kind == RESET or (kind == HEADERS and flags & END_STREAM)):
                return payload if kind == HEADERS else b""
            if kind == GOAWAY:
                raise ConnectionError(payload[8:].decode())

    def close(self) -> None:
        self.socket.close()

    def _frame(self) -> tuple[int, int, int, bytes]:
        head = self._read(9)
        length, kind, flags = int.from_bytes(head[:3]), head[3], head[4]
        return kind, flags, int.from_bytes(head[5:]) & 0x7FFFFFFF, self._read(length)

    def _read(self, length: int) -> bytes:
        found = b""
        while len(found) < length:
            more = self.socket.recv(length - len(found))
            if not more:
                raise ConnectionError("closed")
            found += more
        return found


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return one frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name: str, value: str) -> bytes:
    """Return a header as HPACK writes it without tables and without Huffman's code."""
    return b"\x10" + _text(name) + _text(value)


def _text(text: str) -> bytes:
    raw = text.encode()
    if len(raw) < 127:
        return bytes([len(raw)]) + raw
    rest, encoded = len(raw) - 127, b"\x7f"
    while rest >= 128:
        encoded += bytes([rest % 128 + 128])
        rest //= 128
    return encoded + bytes([rest]) + raw
