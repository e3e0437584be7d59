"""What a grader is: its parameters, and a pure function of (task row, output, parameters)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from hone.graders.results import Result

Item = dict[str, Any]


class GraderParams(BaseModel):
    """A grader's JSON. Unknown keys are errors, nothing is coerced."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: str
    name: str = Field("", description="Shown in results; it changes nothing.")


P = TypeVar("P", bound=GraderParams)


def _ready() -> None:
    """A grader that needs no preparation."""


@dataclass(frozen=True)
class Grader(Generic[P]):
    """A kind of grader.

    `grade` may raise NoAnswer and InvalidSpec. A pooled one runs in a process that is killed when it hangs; there
    `prepare` runs first, outside of the time limit: it imports what is heavy and proves itself on a known case.
    One that does not read the output grades empty ones too.
    `wait_s` says how many seconds pass before a grade, `inner` which other graders' JSON the parameters hold, by where
    it stands.
    """

    params: type[P]
    grade: Callable[[Item, str, P], Result]
    pooled: bool = False
    prepare: Callable[[], None] = _ready
    reads_output: bool = True
    low: float = 0.0
    high: float = 1.0
    wait_s: Callable[[Item, P], float] | None = None
    inner: Callable[[P], dict[str, dict[str, Any]]] | None = None
