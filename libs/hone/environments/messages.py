"""Messages of an environment on the wire."""

import json
from collections.abc import Iterable
from typing import Any

from hone.api import simulation_pb2
from hone.environments.contract import Message


def to_proto(messages: Iterable[Message]) -> list[simulation_pb2.Message]:
    """Return messages as protocol messages. A content that is no text goes with the other fields."""
    return [_to_proto(message) for message in messages]


def from_proto(messages: Iterable[simulation_pb2.Message]) -> list[Message]:
    """Return protocol messages as messages."""
    return [{"role": one.role, "content": one.content, **json.loads(one.fields_json or "{}")} for one in messages]


def _to_proto(message: Message) -> simulation_pb2.Message:
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    others = {key: value for key, value in message.items()
              if key != "role" and not (key == "content" and isinstance(value, str))}
    return simulation_pb2.Message(role=message["role"], content=text, fields_json=ordered(others) if others else "")


def ordered(value: Any) -> str:
    """Return a value as JSON with the keys of objects in their order: chat templates write them in that order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
