"""The contract of a grader: a type of parameters, and a pure function of (task row, output, parameters)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from hone.graders.results import Result

Item = dict[str, Any]


class GraderParams(BaseModel):
    """A grader's JSON. Unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: str = Field(description="Name of the grader.")
    name: str = Field("", description="A name that results show. It changes no grade.")


P = TypeVar("P", bound=GraderParams)


def _no_preparation() -> None:
    """Prepare nothing."""


def _no_join(results: Mapping[str, Result], params: Any) -> Result:
    raise NotImplementedError("a grader with `inner` needs `join`")


@dataclass(frozen=True)
class Grader(Generic[P]):
    """A kind of grader.

    A grader either grades an output itself (`grade`) or joins the results of other graders (`inner` and `join`).
    `grade` may raise NoAnswer and InvalidSpec. A pooled grader runs in a process that is killed when it hangs.
    """

    params: type[P]
    grade: Callable[[Item, str, P], Result] | None = None
    pooled: bool = False
    prepare: Callable[[], None] = _no_preparation  # pooled: imports heavy modules and tests itself, without time limit
    reads_output: bool = True  # False: it also grades an empty output
    low: float = 0.0  # smallest score
    high: float = 1.0  # largest score
    wait_s: Callable[[Item, P], float] | None = None  # seconds to wait before a grade
    inner: Callable[[P], dict[str, dict[str, Any]]] | None = None  # JSON of other graders by their path in the params
    join: Callable[[Mapping[str, Result], P], Result] = _no_join  # from the inner graders' results, by the same paths
