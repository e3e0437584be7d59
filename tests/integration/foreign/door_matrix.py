"""Every RPC of the door against every wrong caller and every wrong request, as a stranger's client makes them."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from services.door.call import METHODS

GARBAGE = b"\xff\xff\xff"
TOO_LARGE = b"\xa2\x06\x80\x80\x80\x12" + bytes(36 * 2**20)
"""An unknown field of 36 MiB."""
CONFUSED = {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE}
"""Statuses by which a server says that it does not know what happened."""
_INSIDE = re.compile(r"/(?:home|tmp|srv|var|usr)/\S+|[Tt]raceback|<class|psycopg|File \"|:\d{4,5}\b|stack-token")
Ended = tuple[grpc.StatusCode, list[bytes], str]


@dataclass
class Caller:
    """A client of the door with a key of its own. It keeps what it read."""

    address: str
    certificate: str
    key: str | None
    read: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        trusted = grpc.ssl_channel_credentials(Path(self.certificate).read_bytes())
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._channel = grpc.secure_channel(self.address, trusted, options)

    def ends(self, method: str, raw: bytes = b"", **given: Any) -> Ended:
        """Make a call of bytes, and return its status, its answers and its message."""
        shown = () if self.key is None else (("authorization", f"Bearer {self.key}"),)
        streams = method in METHODS and METHODS[method].server_streaming
        kind: Any = self._channel.unary_stream if streams else self._channel.unary_unary
        answers: list[bytes] = []
        try:
            answer = kind(method)(raw, metadata=shown, timeout=60, **given)
            answers.extend(answer if streams else [answer])
        except grpc.RpcError as error:
            self.read.append(error.details() or "")
            return error.code(), answers, error.details() or ""
        return grpc.StatusCode.OK, answers, ""

    def everywhere(self, raw: bytes = b"", **given: Any) -> dict[str, Ended]:
        """Make the same call of every RPC, some at a time."""
        with ThreadPoolExecutor(4) as pool:
            return dict(zip(METHODS, pool.map(lambda method: self.ends(method, raw, **given), METHODS), strict=True))

    def tells_inside(self) -> list[str]:
        """Return the messages that tell something of the inside."""
        return [message for message in self.read if _INSIDE.search(message)]

    def close(self) -> None:
        self._channel.close()


def naming(method: str, ids: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield, for each field of the request that holds an id, its path and a request with that id alone."""
    for path in _id_fields(METHODS[method].input_type, ids):
        request = GetMessageClass(METHODS[method].input_type)()
        _set(request, path.split("."), ids[path.rpartition(".")[2].removesuffix("s")])
        yield path, request.SerializeToString()


def _id_fields(kind: Any, ids: dict[str, Any], depth: int = 0) -> Iterator[str]:
    for one in kind.fields:
        if one.message_type is not None and depth < 3:
            yield from (f"{one.name}.{path}" for path in _id_fields(one.message_type, ids, depth + 1))
        elif one.name.removesuffix("s") in ids:
            yield one.name


def _set(message: Message, path: list[str], value: Any) -> None:
    name, *rest = path
    inner = getattr(message, name)
    if rest:
        _set(inner.add() if hasattr(inner, "add") else inner, rest, value)
    elif hasattr(inner, "append"):
        inner.append(value)
    else:
        setattr(message, name, value)
