"""Tasks: made from a seed or a row with checked parameters, hashed, split, sent as messages and played as episodes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import ValidationError

from hone.api import trajectory_pb2
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import Environment, EnvironmentParams, Episode, Row, Task, WrongParams
from hone.environments.hashing import canonical, digest
from hone.environments.noise.noisy import noisy
from hone.spec import strict_json
from hone.spec.findings import first
from hone.spec.noise import TaskNoise

Split = Literal["train", "held_out"]
HELD_OUT_MODULUS = 16


def environment(name: str) -> Environment:
    """Return an environment by its name. Raises WrongParams."""
    if name not in ENVIRONMENTS:
        fault = ENVIRONMENTS.fault(name)
        raise WrongParams("environment", name, fault or f"one of {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name]


def checked_params(name: str, params: dict[str, Any]) -> EnvironmentParams:
    """Return an environment's parameters as its model. Raises WrongParams with the first wrong parameter."""
    model = environment(name).params
    try:
        return model.model_validate(params)
    except ValidationError as error:
        raise WrongParams(*first(error, "params", model=model)) from error


def content_hash(name: str, content: Any) -> str:
    """Return the hash of a task's content. Tasks that ask the same share it, whatever their seeds and parameters."""
    return digest({"environment": name, "messages": content})


def split_of(task_hash: str) -> Split:
    """Return the split of a task. It depends on the task's content alone."""
    return "held_out" if int(task_hash[:8], 16) % HELD_OUT_MODULUS == 0 else "train"


def held_out_rows(task_hashes: Iterable[str]) -> frozenset[str]:
    """Return the content hashes of a dataset's tasks that are held out, about one of 16.

    A task's own hash decides, so that new rows move no old one to the other side. Only where it would hold out no task,
    the one with the smallest hash is held out; where it would hold out every task, the one with the largest hash
    trains. Fewer than two different tasks have no split: nothing is held out.
    """
    different, split = set(task_hashes), RowSplit()
    for one in different:
        split.add(one)
    return frozenset(filter(split.holds_out, different))


class RowSplit:
    """The rule of `held_out_rows` for tasks that come one by one and are not kept."""

    def __init__(self) -> None:
        self._least, self._largest, self._sides = "", "", set[Split]()

    def add(self, task_hash: str) -> None:
        """Take another task of the dataset into account."""
        self._least = min(self._least or task_hash, task_hash)
        self._largest = max(self._largest, task_hash)
        self._sides.add(split_of(task_hash))

    def holds_out(self, task_hash: str) -> bool:
        """Return whether a task is held out, once all tasks were added."""
        if self._least == self._largest:
            return False
        if len(self._sides) == 2:
            return split_of(task_hash) == "held_out"
        return task_hash == self._least if "train" in self._sides else task_hash != self._largest


@dataclass(frozen=True)
class TaskMaker:
    """Makes tasks and episodes of an environment with checked parameters."""

    name: str
    environment: Environment
    params: EnvironmentParams
    resolved: dict[str, Any]

    def task(self, seed: int, item: Row | None = None) -> Task:
        """Return the task of a seed or a row, with its content hash. Raises WrongParams."""
        content = self.environment.content(self.params, seed, item)
        return Task(self.name, self.resolved, seed, item, content_hash(self.name, content))

    def episode(self, seed: int, item: Row | None = None) -> Episode:
        """Return the episode of a seed or a row, not yet reset. Raises WrongParams."""
        return self.environment.episode(self.params, seed, item)


def maker(name: str, params: dict[str, Any]) -> TaskMaker:
    """Return the maker of an environment's tasks. Raises WrongParams."""
    checked = checked_params(name, params)
    return TaskMaker(name, environment(name), checked, checked.model_dump())


def make(name: str, params: dict[str, Any], seed: int, item: Row | None = None) -> Task:
    """Return the task of a seed or a row, with its content hash. Raises WrongParams."""
    return maker(name, params).task(seed, item)


def episode(task: Task) -> Episode:
    """Return the episode of a task, not yet reset. Raises WrongParams."""
    return _with_noise(task, maker(task.environment, task.params).episode(task.seed, task.item))


def _with_noise(task: Task, made: Episode) -> Episode:
    return made if task.noise is None else noisy(made, TaskNoise.model_validate(task.noise))


def to_proto(task: Task) -> trajectory_pb2.Task:
    """Return a task as a protobuf message."""
    return trajectory_pb2.Task(
        environment=task.environment, params_json=canonical(task.params), seed=task.seed,
        item_json="" if task.item is None else canonical(task.item), content_hash=task.content_hash,
        noise_json="" if task.noise is None else canonical(task.noise))


def from_proto(message: trajectory_pb2.Task) -> Task:
    """Return the task of a message, with its parameters resolved. The message may lack the content hash.

    Raises WrongParams, also when the hash differs from the hash of the task made here.
    """
    task = _maker(message.environment, message.params_json).task(message.seed, _row(message.item_json))
    if message.content_hash not in ("", task.content_hash):
        raise WrongParams("content_hash", message.content_hash, f"{task.content_hash}, the hash of the task's content")
    return replace(task, noise=_noise(message.noise_json)) if message.noise_json else task


def episode_from_proto(message: trajectory_pb2.Task) -> Episode:
    """Return the episode of a message's task, not yet reset. Raises WrongParams as `from_proto` does."""
    task = from_proto(message)
    return _with_noise(task, _maker(message.environment, message.params_json).episode(task.seed, task.item))


@lru_cache(maxsize=256)
def _maker(environment: str, params_json: str) -> TaskMaker:
    return maker(environment, json_object(params_json or "{}", "params_json"))


def json_object(text: str, field: str) -> dict[str, Any]:
    """Return the JSON object in a text field. Raises WrongParams naming the field."""
    try:
        value = strict_json.read(text)
    except ValueError as error:
        raise WrongParams(field, text[:200], f"a JSON object ({error})") from error
    if not isinstance(value, dict):
        raise WrongParams(field, text[:200], "a JSON object")
    return value


def _row(text: str) -> Row | None:
    return json_object(text, "item_json") if text else None


def _noise(text: str) -> dict[str, Any]:
    try:
        return TaskNoise.model_validate(json_object(text, "noise_json")).model_dump()
    except ValidationError as error:
        raise WrongParams(*first(error, "noise", model=TaskNoise)) from error
