"""Any task of the reasoning-gym package, by its name and its own configuration. The package is imported when needed."""

import ast
import builtins
import random
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from hone.environments import gym_verifiers
from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.single_turn import Asks, Question, SingleTurn
from hone.spec.findings import first

_OURS = frozenset({"seed", "size"})
HASH_ORDERED = frozenset(
    {"isomorphic_strings", "knight_swap", "polynomial_multiplication", "ransom_note", "word_ladder"})
"""Tasks that iterate over Python sets of text. Equal seeds give equal questions only under PYTHONHASHSEED=0."""
_EVALUATED = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
"""Tasks whose verifiers call eval on a policy's answer. Their answers are literals, so literal_eval replaces eval."""
_PARSED = frozenset(
    {"countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration"})
"""Tasks whose verifiers have sympy parse a policy's answer, which runs it as Python. Only formulas are passed on."""
_FORMULA = re.compile(
    r"(?:\d+(?:[eE][+-]?\d+)?|\b(?:[^\W\d_]|Abs|exp|ln|log|pi|sqrt|a?(?:cos|sin|tan)h?)\b|[\s+\-*/^!().,])*", re.ASCII)
_OWN_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*")
_UNREADABLE = "("


class ReasoningGymParams(EnvironmentParams):
    """A task's name. Every other key belongs to the task's configuration."""

    model_config = ConfigDict(extra="allow")

    task: str = Field(
        min_length=1, description="Name of a reasoning-gym task, for instance leg_counting.", examples=["leg_counting"])


class ReasoningGym(Asks):
    """A generated question. Its grader is the task's own verifier."""

    summary = "Any reasoning-gym task by name and configuration, judged by its own verifier."
    params = ReasoningGymParams
    foreign = True
    example_params: ClassVar[Mapping[str, Any]] = {"task": "leg_counting"}

    def messages(self, params: ReasoningGymParams, seed: int, item: Row | None) -> list[Message]:
        return [{"role": "user", "content": entry(params, seed)["question"]}]

    def episode(self, params: ReasoningGymParams, seed: int, item: Row | None) -> SingleTurn:
        asked = self.messages(params, seed, item)
        row = {"prompt": asked[0]["content"], "answer": entry(params, seed)["answer"],
               "params": params.model_dump(), "seed": seed}
        return SingleTurn(Question(asked, row, {"type": "reasoning_gym"}))


def entry(params: ReasoningGymParams, seed: int) -> dict[str, Any]:
    """Return the task's entry for a seed: question, answer (None where several are right) and metadata.

    Raises WrongParams for an unknown task and for a configuration that the task refuses.
    """
    return dict(_entry(_Key(params), seed))


def score(params: ReasoningGymParams, seed: int, answer: str) -> float:
    """Return the score that the task's own verifier gives an answer. Raises WrongParams, and Unreadable."""
    dataset, made = _generated(_Key(params), seed)
    task = params.task
    if gym_verifiers.is_nothing(answer, made):
        return 0.0
    if task == "composite":
        task = made["metadata"]["source_dataset"]
        dataset = dataset.datasets[task]
    if task in _EVALUATED:
        vars(sys.modules[type(dataset).__module__])["eval"] = ast.literal_eval
    elif task in _PARSED and not _is_formula(answer, made["metadata"]):
        answer = _UNREADABLE
    return gym_verifiers.scored(task, dataset, answer, made)


def _is_formula(answer: str, metadata: dict[str, Any]) -> bool:
    """Return whether an answer consists of numbers, operators, functions and variables.

    Variables are single letters and the task's own names.
    """
    given = {*metadata.get("variables", ()), metadata.get("variable", "")}
    own = {name for name in given if _OWN_NAME.fullmatch(name) and not hasattr(builtins, name)}
    read = re.sub(r"\b[^\W\d]\w*", lambda found: "x" if found[0] in own else found[0], answer)
    return _FORMULA.fullmatch(read) is not None


class _Key:
    """Parameters as a cache key, compared by their JSON."""

    def __init__(self, params: ReasoningGymParams) -> None:
        self.params, self._text = params, params.model_dump_json()

    def __hash__(self) -> int:
        return hash(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._text == other._text


@lru_cache(maxsize=4096)
def _entry(key: _Key, seed: int) -> dict[str, Any]:
    """Return an entry without its generator, which may hold large dictionaries."""
    return _generated(key, seed)[1]


@lru_cache(maxsize=16)
def _generated(key: _Key, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return the generator of a question, and the entry that it makes."""
    dataset_class, config_class, given = _configured(key)
    # A few tasks draw from the process-wide generator: it is seeded for them and restored afterwards.
    before = random.getstate()
    random.seed(seed)
    try:
        dataset = dataset_class(config_class(seed=seed, size=1, **given))
        return dataset, dataset[0]
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
        raise WrongParams("params", key.params.model_dump(), f"what {key.params.task} takes: {error}") from error
    finally:
        random.setstate(before)


@lru_cache(maxsize=64)
def _configured(key: _Key) -> tuple[type[Any], type[Any], dict[str, Any]]:
    """Return the task's classes and its checked configuration."""
    from reasoning_gym.factory import DATASETS

    task = key.params.task
    if task not in DATASETS:
        raise WrongParams("params.task", task, "the name of a reasoning-gym task")
    if task in HASH_ORDERED and sys.flags.hash_randomization:
        raise WrongParams("params.task", task, "a task whose questions do not follow Python's random hash seed, or "
                                               "a process started with PYTHONHASHSEED=0")
    dataset_class, config_class = DATASETS[task]
    return dataset_class, config_class, _checked(config_class, key.params.model_extra or {})


def _checked(config_class: type[Any], given: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in fields(config_class)} - _OURS
    for name, value in given.items():
        if name not in known:
            raise WrongParams(f"params.{name}", value, f"one of the keys {', '.join(sorted(known))}")
    try:
        config = TypeAdapter(config_class).validate_python(given)
    except ValidationError as error:
        raise WrongParams(*first(error, "params")) from error
    except AssertionError as error:
        raise WrongParams("params", given, str(error)) from error
    return {name: getattr(config, name) for name in given}
