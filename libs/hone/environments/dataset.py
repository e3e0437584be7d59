"""Rows of an uploaded dataset as tasks. The grader's item is the row."""

from typing import Any

from pydantic import Field

from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.single_turn import Asks, Question, SingleTurn
from hone.text.shape import misfits, unanswerable


class DatasetParams(EnvironmentParams):
    """How answers are graded."""

    grader: dict[str, Any] = Field(
        {"type": "exact"}, description="JSON of the grader of every row; its templates read the row as item.")


class DatasetRows(Asks):
    """A row has a `prompt` or `messages`, perhaps `tools`, and the fields that its grader reads."""

    summary = "Rows of an uploaded dataset, each with a prompt or messages, and an answer for its grader."
    params = DatasetParams
    columns = frozenset()

    def messages(self, params: DatasetParams, seed: int, item: Row | None) -> list[Message]:
        messages = conversation(item)
        for wrong in unanswerable(messages):
            raise WrongParams(f"item.{wrong.field}", wrong.found, wrong.expected)
        return messages

    def content(self, params: DatasetParams, seed: int, item: Row | None) -> Any:
        messages, tools = conversation(item), (item or {}).get("tools")
        return {"messages": messages, "tools": tools} if tools else messages

    def episode(self, params: DatasetParams, seed: int, item: Row | None) -> SingleTurn:
        row = item or {}
        return SingleTurn(Question(self.messages(params, seed, item), row, params.grader, row.get("tools")))


def conversation(item: Row | None) -> list[Message]:
    """Return the messages of a row; its prompt is a user's. Raises WrongParams."""
    if item is None:
        raise WrongParams("item", item, "a dataset row")
    for wrong in misfits(item.get("messages", [{"role": "user", "content": "prompt"}]), item.get("tools")):
        raise WrongParams(f"item.{wrong.field}", wrong.found, wrong.expected)
    if "messages" in item:
        return list(item["messages"])
    return [{"role": "user", "content": _text(item.get("prompt"), "item.prompt")}]


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise WrongParams(field, value, "a text that is not empty")
    return value
