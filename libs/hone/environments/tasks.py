"""Tasks: their parameters checked, their content hashed, their split, their episodes."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import ValidationError

from hone.environments import ENVIRONMENTS
from hone.environments.contract import Environment, Episode, Message, Params, Row, Task, WrongParams, expectation
from hone.environments.hashing import digest

Split = Literal["train", "held_out"]
HELD_OUT_MODULUS = 16


def environment(name: str) -> Environment:
    """Return an environment by its name. Raises WrongParams."""
    if name not in ENVIRONMENTS:
        raise WrongParams("environment", name, f"one of {', '.join(ENVIRONMENTS)}")
    return ENVIRONMENTS[name]


def checked_params(name: str, params: dict[str, Any]) -> Params:
    """Return an environment's parameters as its model. Raises WrongParams naming the first wrong one."""
    model = environment(name).params
    try:
        return model.model_validate(params)
    except ValidationError as error:
        raise _wrong(error, model) from error


def episode(task: Task) -> Episode:
    """Return the episode that a task names, not yet reset. Raises WrongParams."""
    params = checked_params(task.environment, task.params)
    return environment(task.environment).episode(params, task.seed, task.item)


def content_hash(name: str, messages: list[Message], item: Row | None) -> str:
    """Return the hash of what the policy is asked; seeds and parameters that ask the same share it."""
    return digest({"environment": name, "messages": messages, "item": item})


def split_of(task_hash: str) -> Split:
    """Return the split a task belongs to, by its content alone."""
    return "held_out" if int(task_hash[:8], 16) % HELD_OUT_MODULUS == 0 else "train"


def maker(name: str, params: dict[str, Any]) -> Callable[[int, Row | None], Task]:
    """Return a function from seed and row to task, with the parameters checked once. Raises WrongParams."""
    kind, checked = environment(name), checked_params(name, params)
    resolved = checked.model_dump()

    def made(seed: int, item: Row | None = None) -> Task:
        return Task(name, resolved, seed, item, content_hash(name, kind.messages(checked, seed, item), item))

    return made


def make(name: str, params: dict[str, Any], seed: int, item: Row | None = None) -> Task:
    """Return the task of a seed or a row, with its content hash. Raises WrongParams."""
    return maker(name, params)(seed, item)


def _wrong(error: ValidationError, model: type[Params]) -> WrongParams:
    first = error.errors()[0]
    field = ".".join(["params", *(str(part) for part in first["loc"])])
    if first["type"] == "extra_forbidden":
        return WrongParams(field, first["input"], f"one of the keys {', '.join(model.model_fields)}")
    if first["type"] == "missing":
        return WrongParams(field, None, "a value")
    return WrongParams(field, first["input"], expectation(first))
