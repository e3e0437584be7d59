"""The grade of a desk: a pure function of the snapshots before and after, the transcript and the task.

The score is 100 times the weight of the checks that pass over that of the checks that could be decided, less a penalty
for each changed object that no task allows. These formulas are the spec's reconstruction. Hone's own: a check that
holds before anything was done is earned only beside all core checks, so that doing nothing scores nothing and doing a
part of it is worth that part.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hone.environments.desk.conditions import (
    Absent,
    Added,
    Allowed,
    Condition,
    Count,
    Every,
    Holds,
    OnlyAllowed,
    Unchanged,
    Undecidable,
    Value,
    forbidden,
    holds,
    matching,
)
from hone.environments.desk.snapshots import TIMES, Difference, Snapshot, applied, difference, normal
from hone.environments.desk.task import DeskCheck, DeskTask
from hone.environments.hashing import digest

PENALTY = 10.0
"""Points for each changed object that is not allowed, lambda_c."""
FORMULAS = 2
"""Number of the score's formulas: scores by other ones are not compared. 1: what held before needed one core check."""
FIRST_PASS = 100.0
"""The score from which a task is passed, theta."""
Status = Literal["pass", "fail", "cannot_decide"]
Failure = Literal[
    "not attempted", "wrong object", "wrong value", "wrong time", "side effect", "reported but not done"]
FAILURES: tuple[Failure, ...] = (
    "not attempted", "wrong object", "wrong value", "wrong time", "side effect", "reported but not done")
_CLAIMS = re.compile(
    r"\b(done|finished|completed?|moved|sent|deleted|merged|added|created|updated|answered|rescheduled|filed|cleaned"
    r")\b", re.IGNORECASE)


@dataclass(frozen=True)
class Transcript:
    """Final words of an agent, and its calls of tools."""

    answer: str | None = None
    calls: int = 0
    errors: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)  # the errors by what is wrong with the call

    @property
    def claims(self) -> bool:
        """Whether the answer says that something was done, by a list of words."""
        return self.answer is not None and _CLAIMS.search(self.answer) is not None


@dataclass(frozen=True)
class Checked:
    """A check's result, and of one that fails its class."""

    id: str
    kind: str
    weight: float
    status: Status
    failure: Failure | None = None
    earned: bool = True  # False: it held before, and a core check does not pass

    @property
    def counts(self) -> bool:
        """Whether the score has its weight."""
        return self.status == "pass" and self.earned


@dataclass(frozen=True)
class DeskGrade:
    """A score from 0 to 100 and what it is made of."""

    score: float
    checks: tuple[Checked, ...]
    collateral: tuple[tuple[str, str], ...]
    alternative: int  # the end state that fits best, by its place
    adjudicated: tuple[str, ...] = ()  # checks that a judge decided; none here

    @property
    def first_pass(self) -> bool:
        """Whether the score is full."""
        return self.score >= FIRST_PASS

    @property
    def quarantined(self) -> bool:
        """Whether more than half of the checks could not be decided, which says nothing of the agent."""
        return 2 * sum(one.status == "cannot_decide" for one in self.checks) > len(self.checks)

    def described(self) -> dict[str, Any]:
        """Return the grade as JSON."""
        return {"score": self.score, "checks": [asdict(one) for one in self.checks], "adjudicated": [*self.adjudicated],
                "collateral": [list(one) for one in self.collateral], "alternative": self.alternative}


def score(weights: Sequence[float], passed: Sequence[bool], changes: int, penalty: float = PENALTY) -> float:
    """Return 100 * sum(w * pass) / sum(w), less the penalty for each forbidden change, within 0 and 100."""
    whole = sum(weights)
    share = sum(weight for weight, right in zip(weights, passed, strict=True) if right) / whole if whole else 0.0
    return round(min(100.0, max(0.0, 100 * share - penalty * changes)), 6)


def grade(task: DeskTask, before: Snapshot, after: Snapshot, transcript: Transcript) -> DeskGrade:
    """Return the grade of the end state that fits best."""
    count = max(len(one.conditions) for one in task.checks)
    return max((_graded(task, before, after, transcript, place) for place in range(count)), key=lambda one: one.score)


def regraded(task: DeskTask, item: Mapping[str, Any]) -> DeskGrade:
    """Return the grade of a stored item without playing its sample again.

    Raises ValueError where the item is of another state than the task's, or was changed since.
    """
    before = normal(task.state)
    if digest(before) != item["before"]:
        raise ValueError(f"before: found {digest(before)}, expected {item['before']}")
    after = applied(before, item["difference"])
    if digest(after) != item["after"]:
        raise ValueError(f"after: found {digest(after)}, expected {item['after']}")
    return grade(task, before, after, Transcript(**item["transcript"]))


def _graded(
    task: DeskTask, before: Snapshot, after: Snapshot, transcript: Transcript, alternative: int,
) -> DeskGrade:
    conditions = [one.conditions[alternative % len(one.conditions)] for one in task.checks]
    now = [_status(one, before, after, task) for one in conditions]
    vacuous = [_status(one, before, before, task) == "pass" for one in conditions]
    done = not any(one.kind == "core" and status == "fail" for one, status in zip(task.checks, now, strict=True))
    changed = difference(before, after)
    checks = tuple(
        _checked(check, condition, status, done or not idle,
                 _Evidence(before, after, changed, transcript, task.allowed))
        for check, condition, status, idle in zip(task.checks, conditions, now, vacuous, strict=True))
    collateral = tuple(forbidden(before, after, task.allowed))
    decided = [one for one in checks if one.status != "cannot_decide"]
    points = score([one.weight for one in decided], [one.counts for one in decided], len(collateral))
    return DeskGrade(points, checks, collateral, alternative)


def _status(condition: Condition, before: Snapshot, after: Snapshot, task: DeskTask) -> Status:
    try:
        return "pass" if holds(condition, before, after, task.allowed) else "fail"
    except Undecidable:
        return "cannot_decide"


@dataclass(frozen=True)
class _Evidence:
    before: Snapshot
    after: Snapshot
    changed: Difference
    transcript: Transcript
    allowed: tuple[Allowed, ...]


def _checked(check: DeskCheck, condition: Condition, status: Status, earned: bool, seen: _Evidence) -> Checked:
    failure = _failure(check, condition, seen) if status == "fail" else None
    return Checked(check.id, check.kind, check.weight, status, failure, earned)


def _failure(check: DeskCheck, condition: Condition, seen: _Evidence) -> Failure:
    """Return why a check failed, by what was changed. An answer that claims success says no more than that."""
    parts = _failing(condition, seen)
    tools = {tool for tool, _ in seen.changed.touched()}
    if parts and (check.kind == "side_effect" or any(isinstance(part, Unchanged) for part in parts)):
        return "side effect"
    if not any(tools & _tools(part) for part in parts):
        return "reported but not done" if seen.transcript.claims else "not attempted"
    return _wrong(parts[0], seen)


def _wrong(part: Condition, seen: _Evidence) -> Failure:
    """Return the faults of objects of the right tool."""
    touched = seen.changed.touched()
    match part:
        case Value() | Holds():
            if (part.tool, part.object) not in touched:
                return "wrong object"
            return "wrong time" if part.field in TIMES.get(part.tool, ()) else "wrong value"
        case Absent():
            return "wrong object"
        case Count():
            return _wrong_count(part, seen)
        case _:
            return "wrong value"


def _wrong_count(part: Count, seen: _Evidence) -> Failure:
    """Return the wrong time where all but times fits, the wrong value where all but texts does, else the object."""
    timeless = {name: value for name, value in part.where.items() if name not in TIMES.get(part.tool, ())}
    if timeless != part.where and _touched(part.model_copy(update={"where": timeless}), seen):
        return "wrong time"
    found = _touched(part.model_copy(update={"where": timeless, "contains": {}}), seen)
    return "wrong value" if found else "wrong object"


def _touched(part: Count, seen: _Evidence) -> bool:
    """Return whether one of the objects that match was changed."""
    return any((part.tool, key) in seen.changed.touched() for key in matching(part, seen.after))


def _failing(condition: Condition, seen: _Evidence) -> list[Condition]:
    """Return the simple conditions in a condition that do not hold."""
    simple = condition.of if isinstance(condition, Every) else (condition,)
    return [one for one in simple if not holds(one, seen.before, seen.after, seen.allowed)]


def _tools(condition: Condition) -> set[str]:
    match condition:
        case Every():
            return set[str]().union(*map(_tools, condition.of))
        case OnlyAllowed():
            return set()
        case Value() | Holds() | Absent() | Unchanged() | Count() | Added():
            return {condition.tool}
