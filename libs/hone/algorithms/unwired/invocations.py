"""Calls of skills in episodes, SelSkill, arXiv 2606.00510: their number, and the share that succeeded.

Precision measures whether calls are valid, and not whether they are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["completed", "invalid_call", "unmet_precondition", "malformed_argument", "execution_error"]


@dataclass(frozen=True)
class Invocation:
    """An attempt to call a skill."""

    turn: int  # turn of its episode, from 0
    skill: str
    status: Status


@dataclass(frozen=True)
class SkillEpisode:
    """An episode, as SelSkill's metrics read it."""

    success: bool
    steps: int  # environment steps
    invocations: Sequence[Invocation]


def execution_precision(invocations: Sequence[Invocation]) -> float | None:
    """Return the share of attempted calls that completed; None without attempts."""
    if not invocations:
        return None
    return sum(each.status == "completed" for each in invocations) / len(invocations)


def late_call(invocations: Sequence[Invocation], skill: str, branch: int) -> bool:
    """Return whether a continuation that skipped `skill` at turn `branch` attempted it at a later turn."""
    return any(each.skill == skill and each.turn > branch for each in invocations)


def figures(episodes: Sequence[SkillEpisode]) -> dict[str, float | None]:
    """Return success, execution_precision, calls and steps, means over episodes. Precision is over all calls.

    Raises ValueError without an episode.
    """
    if not episodes:
        raise ValueError("episodes: found none, expected at least one")
    calls = [each for episode in episodes for each in episode.invocations]
    return {
        "success": sum(episode.success for episode in episodes) / len(episodes),
        "execution_precision": execution_precision(calls),
        "calls": len(calls) / len(episodes),
        "steps": sum(episode.steps for episode in episodes) / len(episodes),
    }
