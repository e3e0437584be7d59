"""Grader specifications: read from JSON, checked, hashed."""

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from hone.environments.contract import expectation
from hone.environments.hashing import canonical, digest
from services.reward.graders import GRADERS
from services.reward.graders.contract import Grader, GraderParams


@dataclass(frozen=True)
class Problem:
    """What is wrong with one field of a specification."""

    field: str
    found: object
    expected: str

    def __str__(self) -> str:
        return f"{self.field}: found {self.found!r}, expected {self.expected}"


class WrongSpec(ValueError):
    """A grader's JSON is not one of ours; carries every problem."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True)
class Spec:
    """A grader with its parameters. `hash` names it in every stored grade."""

    grader: Grader[Any]
    params: GraderParams
    json: str

    @cached_property
    def hash(self) -> str:
        return digest(json.loads(self.json))


@lru_cache(maxsize=256)
def spec(text: str) -> Spec:
    """Return the specification in a JSON text. Raises WrongSpec."""
    given = _object(text)
    kind = given.get("type")
    if not isinstance(kind, str) or kind not in GRADERS:
        raise WrongSpec([Problem("type", kind, f"one of {', '.join(GRADERS)}")])
    grader = GRADERS[kind]
    try:
        params = grader.params.model_validate(given)
    except ValidationError as error:
        raise WrongSpec([_problem(detail, grader.params) for detail in error.errors()]) from error
    return Spec(grader, params, canonical(given))


def _object(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
    except ValueError as error:
        raise WrongSpec([Problem("grader", text[:200], f"a JSON object ({error})")]) from error
    if not isinstance(given, dict):
        raise WrongSpec([Problem("grader", text[:200], "a JSON object")])
    return given


def _problem(detail: ErrorDetails, params: type[GraderParams]) -> Problem:
    field = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        return Problem(field, detail["input"], f"one of the keys {', '.join(params.model_fields)}")
    if detail["type"] == "missing":
        return Problem(field, None, "a value")
    return Problem(field, detail["input"], expectation(detail))
