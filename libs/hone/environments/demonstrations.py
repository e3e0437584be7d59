"""Rows with given answers as trajectories: a row's completion, its chosen and rejected one, or a whole conversation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hone.environments import recorded
from hone.environments.contract import WrongParams
from hone.environments.dataset import conversation
from hone.environments.recorded import WrongCalls
from hone.text.conversation import Message
from hone.text.files import TokenizerError, Unbounded
from hone.text.model_text import ModelText
from hone.trajectory.records import Call, Trajectory

Answer = tuple[Sequence[Message], Message]
"""A conversation, and the assistant's message that answers it."""


class UnusableRow(ValueError):
    """The model cannot be trained on a row. The message is the reason."""


def trajectories(row: Mapping[str, Any], place: int, columns: Sequence[str], tokenizer: ModelText) -> list[Trajectory]:
    """Return the trajectories of a row: one for each of `columns`, with a call for each answer that is trained.

    A row that lacks its only column is a conversation: each message of the assistant is trained whose weight is not 0.
    Recorded calls of a row take the place of its only column.
    Raises UnusableRow, and Unbounded where the template or the tokenizer takes too long for a row.
    """
    try:
        if len(columns) == 1 and recorded.COLUMN in row:
            return [_trajectory(row, place, 0, recorded.calls(row[recorded.COLUMN], tokenizer))]
        return [_trajectory(row, place, index, _calls(row, _answers(row, column, len(columns)), tokenizer))
                for index, column in enumerate(columns)]
    except Unbounded:
        raise
    except (TokenizerError, WrongParams, WrongCalls) as error:
        raise UnusableRow(str(error)) from error


def _answers(row: Mapping[str, Any], column: str, columns: int) -> list[Answer]:
    messages = conversation(dict(row))
    if column in row:
        weighted = [answer for answer in _turns(messages) if answer[1].get("weight") == 1]
        return [*weighted, (messages, {"role": "assistant", "content": row[column]})]
    found = [answer for answer in _turns(messages) if answer[1].get("weight") != 0] if columns == 1 else []
    if not found:
        raise UnusableRow(f"found neither {column} nor a message of the assistant that is trained")
    return found


def _turns(messages: Sequence[Message]) -> Iterator[Answer]:
    """Yield each message of the assistant with the conversation before it."""
    for place, message in enumerate(messages):
        if message["role"] == "assistant" and place:
            yield messages[:place], message


def _calls(row: Mapping[str, Any], answers: Sequence[Answer], tokenizer: ModelText) -> list[Call]:
    return [_call(number, answer, row.get("tools") or (), tokenizer) for number, answer in enumerate(answers)]


def _trajectory(row: Mapping[str, Any], place: int, index: int, calls: list[Call]) -> Trajectory:
    return Trajectory(
        group_id=0, index=index, request_no=place, task={}, task_hash="", item=dict(row), calls=calls, steps=[],
        status="ok", score=None, grade_id=None)


def _call(number: int, answer: Answer, tools: Sequence[Mapping[str, Any]], tokenizer: ModelText) -> Call:
    prompt_ids, completion_ids = tokenizer.answer_ids(*answer, tools)
    return Call(
        index=number, turn=number, prompt_ids=prompt_ids, completion_ids=completion_ids, logp_sample=[],
        finish_reason="stop", versions=[], text=tokenizer.decode(completion_ids, after=prompt_ids),
        train_mask=[True] * len(completion_ids))
