"""Tasks on the wire."""

import json
from typing import Any

from hone.api import trajectory_pb2
from hone.environments.contract import Row, Task, WrongParams
from hone.environments.hashing import canonical
from hone.environments.tasks import make


def to_proto(task: Task) -> trajectory_pb2.Task:
    """Return a task as its message."""
    return trajectory_pb2.Task(
        environment=task.environment, params_json=canonical(task.params), seed=task.seed,
        item_json="" if task.item is None else canonical(task.item), content_hash=task.content_hash)


def from_proto(message: trajectory_pb2.Task) -> Task:
    """Return the task a message names, its parameters resolved. Its hash may be left out.

    Raises WrongParams, also when the hash is not that of what this task asks here.
    """
    task = make(message.environment, json_object(message.params_json or "{}", "params_json"), message.seed,
                _row(message.item_json))
    if message.content_hash not in ("", task.content_hash):
        raise WrongParams("content_hash", message.content_hash, f"{task.content_hash}, the hash of what the task asks")
    return task


def json_object(text: str, field: str) -> dict[str, Any]:
    """Return the JSON object in a text field. Raises WrongParams naming the field."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise WrongParams(field, text[:200], f"a JSON object ({error})") from error
    if not isinstance(value, dict):
        raise WrongParams(field, text[:200], "a JSON object")
    return value


def _row(text: str) -> Row | None:
    return json_object(text, "item_json") if text else None
