"""The result of a grader, and the two errors that a grader may raise."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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


def verdict(right: bool, extracted: str, decided_by: str) -> Result:
    """Return score 1 for a right answer and 0 for a wrong one."""
    return Result(Status.OK, float(right), extracted=extracted, decided_by=decided_by)


def no_answer(reason: str) -> Result:
    """Return score 0 for an output without an answer."""
    return Result(Status.NO_ANSWER, 0.0, reasons=(reason,), decided_by="no_answer")


def failure(status: Status, reason: str) -> Result:
    """Return a result without score, for a system failure."""
    return Result(status, None, reasons=(reason,), decided_by=status.value)
