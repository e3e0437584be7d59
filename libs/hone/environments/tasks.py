"""Tasks: their parameters checked, their content hashed, their split, their episodes."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from hone.environments import ENVIRONMENTS
from hone.environments.contract import Environment, EnvironmentParams, Episode, Row, Task, WrongParams, expectation
from hone.environments.hashing import digest

Split = Literal["train", "held_out"]
HELD_OUT_MODULUS = 16


def environment(name: str) -> Environment:
    """Return an environment by its name. Raises WrongParams."""
    if name not in ENVIRONMENTS:
        raise WrongParams("environment", name, f"one of {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name]


def checked_params(name: str, params: dict[str, Any]) -> EnvironmentParams:
    """Return an environment's parameters as its model. Raises WrongParams naming the first wrong one."""
    model = environment(name).params
    try:
        return model.model_validate(params)
    except ValidationError as error:
        raise _wrong(error, model) from error


def content_hash(name: str, content: Any) -> str:
    """Return the hash of a task's content; seeds, parameters and rows that ask the same share it."""
    return digest({"environment": name, "messages": content})


def split_of(task_hash: str) -> Split:
    """Return the split a task belongs to, by its content alone."""
    return "held_out" if int(task_hash[:8], 16) % HELD_OUT_MODULUS == 0 else "train"


@dataclass(frozen=True)
class Maker:
    """An environment whose parameters are checked: makes its tasks and their episodes."""

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


def maker(name: str, params: dict[str, Any]) -> Maker:
    """Return the maker of an environment's tasks. Raises WrongParams."""
    checked = checked_params(name, params)
    return Maker(name, environment(name), checked, checked.model_dump())


def make(name: str, params: dict[str, Any], seed: int, item: Row | None = None) -> Task:
    """Return the task of a seed or a row, with its content hash. Raises WrongParams."""
    return maker(name, params).task(seed, item)


def episode(task: Task) -> Episode:
    """Return the episode that a task names, not yet reset. Raises WrongParams."""
    return maker(task.environment, task.params).episode(task.seed, task.item)


def _wrong(error: ValidationError, model: type[EnvironmentParams]) -> WrongParams:
    first = error.errors()[0]
    field = ".".join(["params", *(str(part) for part in first["loc"])])
    if first["type"] == "extra_forbidden":
        return WrongParams(field, first["input"], f"one of the keys {', '.join(model.model_fields)}")
    if first["type"] == "missing":
        return WrongParams(field, None, "a value")
    return WrongParams(field, first["input"], expectation(first))
