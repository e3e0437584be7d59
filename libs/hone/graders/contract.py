"""The contract of a grader: its parameters, a pure function of (task row, output, parameters), and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from pydantic import ConfigDict, Field

from hone.spec.parameters import Strict

Item = dict[str, Any]
"""A row of the task, as templates and graders read it."""


class Status(StrEnum):
    """Whether a grade says something about the policy.

    ok, no_answer and timeout_candidate are facts about the policy, and the score is valid. With every other status the
    system failed: there is no score, and the sample is masked.
    """

    OK = "ok"
    NO_ANSWER = "no_answer"
    TIMEOUT_CANDIDATE = "timeout_candidate"
    INFRA_ERROR = "infra_error"
    JUDGE_ERROR = "judge_error"
    TIMEOUT_GRADER = "timeout_grader"
    INVALID_SPEC = "invalid_spec"


@dataclass(frozen=True)
class Result:
    """One grade. `score` is None exactly when the system failed, as the status says."""

    status: Status
    score: float | None
    components: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    extracted: str | None = None  # the answer that the grader found in the output
    decided_by: str = ""  # name of the rule that decided the score
    cost_ms: float = 0.0


class NoAnswer(Exception):
    """The output holds no answer. This is a fact about the policy: the score is 0."""


class InvalidSpec(Exception):
    """The grader and the task row do not fit together. The policy is not to blame: there is no score."""


class NoReference(Exception):
    """The grader knows no output that is right for the row. The message says why."""


@dataclass(frozen=True)
class RightOutput:
    """An output that is right by the row's own reference, and the score that it has to get."""

    text: str
    score: float = 1.0
    note: str = ""  # what may explain a lower score


def verdict(right: bool, extracted: str, decided_by: str) -> Result:
    """Return score 1 for a right answer and 0 for a wrong one."""
    return Result(Status.OK, float(right), extracted=extracted, decided_by=decided_by)


def no_answer(reason: str) -> Result:
    """Return score 0 for an output without an answer."""
    return Result(Status.NO_ANSWER, 0.0, reasons=(reason,), decided_by="no_answer")


def failure(status: Status, reason: str) -> Result:
    """Return a result without score, for a system failure."""
    return Result(status, None, reasons=(reason,), decided_by=status.value)


class GraderParams(Strict):
    """A grader's JSON. Unknown keys and values of another type are errors."""

    model_config = ConfigDict(strict=True)

    type: str = Field(description="Name of the grader.")
    name: str = Field("", description="A name that results show. It changes no grade.")


P = TypeVar("P", bound=GraderParams)


def _reads_no_reasoning(params: Any) -> bool:  # noqa: ARG001
    return False


@dataclass(frozen=True)
class Mark:
    """Two texts around an answer, as a grader reads it. `needed`: without them an output has no answer."""

    opening: str
    closing: str
    needed: bool = True


def _no_marks(params: Any) -> Sequence[Mark]:  # noqa: ARG001
    return ()


def _no_preparation() -> None:
    """Prepare nothing."""


def _no_join(results: Mapping[str, Result], params: Any) -> Result:
    raise NotImplementedError("a grader with `inner` needs `join`")


Bounds = tuple[float, float]
"""Smallest and largest score."""


@dataclass(frozen=True)
class Grader(Generic[P]):
    """A kind of grader.

    A grader either grades an output itself (`grade`) or joins the results of other graders (`inner` and `join`).
    `grade` gets the output without its blocks of reasoning, unless `reads_reasoning` is true for the parameters. It may
    raise NoAnswer and InvalidSpec. A pooled grader runs in a process that is killed when it hangs.
    """

    params: type[P]
    grade: Callable[[Item, str, P], Result] | None = None
    pooled: bool = False
    prepare: Callable[[], None] = _no_preparation  # pooled: imports heavy modules and tests itself, without time limit
    reads_output: bool = True  # False: it also grades an empty output
    reads_reasoning: Callable[[P], bool] = _reads_no_reasoning  # True: `grade` gets what the model thought, too
    marks: Callable[[P], Sequence[Mark]] = _no_marks  # around the answer: a stop text must not take them off
    low: float = 0.0  # smallest score
    high: float = 1.0  # largest score
    bounds: Callable[[P, Mapping[str, Bounds]], Bounds] | None = None  # from the params and the inner graders' bounds
    #                                                                    by path; None: low and high
    wait_s: Callable[[Item, P], float] | None = None  # seconds to wait before a grade
    right_output: Callable[[Item, P], RightOutput] | None = None  # from the row's reference; may raise NoReference
    inner: Callable[[P], dict[str, dict[str, Any]]] | None = None  # JSON of other graders by their path in the params
    join: Callable[[Mapping[str, Result], P], Result] = _no_join  # from the inner graders' results, by the same paths
