"""Tasks on the wire."""

import json
from functools import lru_cache
from typing import Any

from hone.api import trajectory_pb2
from hone.environments.contract import Episode, Row, Task, WrongParams
from hone.environments.hashing import canonical
from hone.environments.tasks import Maker, maker


def to_proto(task: Task) -> trajectory_pb2.Task:
    """Return a task as its message."""
    return trajectory_pb2.Task(
        environment=task.environment, params_json=canonical(task.params), seed=task.seed,
        item_json="" if task.item is None else canonical(task.item), content_hash=task.content_hash)


def from_proto(message: trajectory_pb2.Task) -> Task:
    """Return the task a message names, its parameters resolved. Its hash may be left out.

    Raises WrongParams, also when the hash is not that of what this task asks here.
    """
    task = _maker(message.environment, message.params_json).task(message.seed, _row(message.item_json))
    if message.content_hash not in ("", task.content_hash):
        raise WrongParams("content_hash", message.content_hash, f"{task.content_hash}, the hash of what the task asks")
    return task


def episode_from_proto(message: trajectory_pb2.Task) -> Episode:
    """Return the episode of the task a message names, not yet reset. Raises WrongParams as `from_proto` does."""
    task = from_proto(message)
    return _maker(message.environment, message.params_json).episode(task.seed, task.item)


@lru_cache(maxsize=256)
def _maker(environment: str, params_json: str) -> Maker:
    return maker(environment, json_object(params_json or "{}", "params_json"))


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
