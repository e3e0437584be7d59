"""Rows of an uploaded dataset as tasks. The grader's item is the row."""

from typing import Any

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.single_turn import Asks, Question, SingleTurn


class DatasetParams(EnvironmentParams):
    """How answers are graded."""

    grader: dict[str, Any] = Field(
        {"type": "exact"}, description="JSON of the grader of every row; its templates read the row as item.")


class DatasetRows(Asks):
    """A row is `{"prompt": str}` or `{"messages": [{"role", "content"}]}`, with the fields that its grader reads."""

    summary = "Rows of an uploaded dataset, each with a prompt or messages, and an answer for its grader."
    params = DatasetParams
    columns = frozenset()

    def messages(self, params: DatasetParams, seed: int, item: Row | None) -> list[Message]:
        if item is None:
            raise WrongParams("item", item, "a dataset row")
        if "messages" in item:
            return [_message(entry, f"item.messages[{place}]") for place, entry in enumerate(_entries(item))]
        return [{"role": "user", "content": _text(item.get("prompt"), "item.prompt")}]

    def episode(self, params: DatasetParams, seed: int, item: Row | None) -> SingleTurn:
        return SingleTurn(Question(self.messages(params, seed, item), item or {}, params.grader))


def _entries(item: Row) -> list[Any]:
    entries = item["messages"]
    if not isinstance(entries, list) or not entries:
        raise WrongParams("item.messages", entries, "a list of at least one message")
    return entries


def _message(entry: Any, field: str) -> Message:
    if not isinstance(entry, dict):
        raise WrongParams(field, entry, "an object with role and content")
    return {key: _text(entry.get(key), f"{field}.{key}") for key in ("role", "content")}


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise WrongParams(field, value, "a text that is not empty")
    return value
