"""What every grader returns, and the two ways in which it may give up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """ok, no_answer and timeout_candidate are facts about the policy: the score is valid.

    The others are facts about us: there is no score, and the sample is masked.
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
    """One grade. `score` is None exactly when the status is a fact about us."""

    status: Status
    score: float | None
    components: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    extracted: str | None = None  # the answer as the grader read it
    decided_by: str = ""  # the rule that decided
    cost_ms: float = 0.0


class NoAnswer(Exception):
    """The output holds no answer: a fact about the policy, score 0."""


class InvalidSpec(Exception):
    """The grader and the task row do not fit together: a fact about us, no score."""


def verdict(right: bool, extracted: str, decided_by: str) -> Result:
    """Return score 1 or 0 for an answer that was read."""
    return Result(Status.OK, float(right), extracted=extracted, decided_by=decided_by)


def no_answer(reason: str) -> Result:
    """Return score 0 for an output without an answer."""
    return Result(Status.NO_ANSWER, 0.0, reasons=(reason,), decided_by="no_answer")


def failure(status: Status, reason: str) -> Result:
    """Return the result of a grader that could not tell."""
    return Result(status, None, reasons=(reason,), decided_by=status.value)
