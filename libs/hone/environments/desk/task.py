"""A task of the desk: what the user asks, the state before, and the hidden truth as weighted checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from hone.environments.desk.conditions import Added, Allowed, Condition, OnlyAllowed
from hone.environments.desk.permissions import Permission
from hone.environments.desk.store import DeskState
from hone.environments.hashing import digest

CheckKind = Literal["core", "consistency", "side_effect"]
SHARES: dict[CheckKind, float] = {"core": 60.0, "consistency": 25.0, "side_effect": 15.0}
"""Points of each kind, divided equally among its checks. The source does not say its weights."""
Difficulty = Literal[
    "cross-source conflict", "hidden dependency", "noisy data", "entity alignment", "temporal", "constraint"]


@dataclass(frozen=True)
class DeskCheck:
    """A part of the rubric: a condition for each end state that is right, or one for all of them."""

    id: str
    description: str
    kind: CheckKind
    conditions: tuple[Condition, ...]
    weight: float = 0.0


@dataclass(frozen=True)
class NearMiss:
    """Actions that almost do the task, and the check that has to fail."""

    actions: tuple[str, ...]
    check: str


@dataclass(frozen=True)
class Scripts:
    """Actions of scripted agents. The perfect agent's last state is the true state."""

    perfect: tuple[str, ...]
    partial: tuple[str, ...]
    wrong_object: tuple[str, ...]
    near_misses: tuple[NearMiss, ...]


@dataclass(frozen=True)
class DeskTask:
    """One task. Only the prompt and the state are for the policy."""

    family: str
    hint: str
    difficulties: tuple[Difficulty, ...]
    prompt: str
    owner: str  # e-mail address of the user
    now: str
    zone: str
    state: DeskState
    checks: tuple[DeskCheck, ...]
    allowed: tuple[Allowed, ...]
    scripts: Scripts
    denied: tuple[Permission, ...] = ()  # what the agent may not do

    @cached_property
    def verifier_hash(self) -> str:
        """Hash of the verification program: the checks and what may change."""
        return digest([[one.id, one.kind, one.weight, [part.model_dump() for part in one.conditions]]
                       for one in self.checks] + [one.model_dump() for one in self.allowed])


def weighted(checks: Sequence[DeskCheck]) -> tuple[DeskCheck, ...]:
    """Return checks with weights that sum to 100 where each kind is there: equal ones within a kind."""
    counts = {kind: sum(one.kind == kind for one in checks) for kind in SHARES}
    return tuple(DeskCheck(one.id, one.description, one.kind, one.conditions, SHARES[one.kind] / counts[one.kind])
                 for one in checks)


def conflicting(conflict: bool, *difficulties: Difficulty) -> tuple[Difficulty, ...]:
    """Return difficulties, with the conflict of sources where there is one."""
    return (*difficulties, "cross-source conflict") if conflict else difficulties


ALONE = DeskCheck("nothing_else", "Nothing else was changed.", "side_effect", (OnlyAllowed(),))
"""The check of side effects, the same in every family."""
ONE_MAIL = DeskCheck("one_mail", "Exactly one mail was written.", "consistency", (Added(tool="mail", count=1),))
