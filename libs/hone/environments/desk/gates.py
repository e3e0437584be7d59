"""Gates that a drafted task has to pass before anybody reads it: the spec's (i) to (v).

A draft's verification is data by default. A function can stand in its place, so that defects can be planted.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hone.environments.contract import EpisodeOver
from hone.environments.desk.agents import CLAIM, worked
from hone.environments.desk.episode import DeskEpisode
from hone.environments.desk.grading import DeskGrade, Transcript, grade
from hone.environments.desk.snapshots import Snapshot, normal
from hone.environments.desk.task import DeskTask
from hone.environments.hashing import digest

Verifier = Callable[[DeskTask, Snapshot, Snapshot, Transcript], DeskGrade]
MOST_IDLE = 10.0
"""Highest score of the state before, gate (ii)."""
FEWEST_NEAR_MISSES = 3
LONGEST_S = 60.0


@dataclass(frozen=True)
class DeskDraft:
    """A task to be accepted: its set-up program, and what verifies it."""

    set_up: Callable[[], DeskTask]
    verify: Verifier = grade


@dataclass(frozen=True)
class GateResult:
    """A gate, and what is to be repaired; "": it is passed."""

    gate: str
    repair: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is to be repaired."""
        return not self.repair


def gates(draft: DeskDraft, clock: Callable[[], float] = time.monotonic) -> list[GateResult]:
    """Return the result of each gate. The clock, in seconds, measures the verification alone."""
    task = draft.set_up()
    return [GateResult("reproducible", _reproducible(draft, task)), GateResult("idle", _idle(draft, task)),
            GateResult("reference", _reference(draft, task)), GateResult("near misses", _near_misses(draft, task)),
            GateResult("bounded", _bounded(draft, task, clock))]


def _reproducible(draft: DeskDraft, task: DeskTask) -> str:
    """Gate (i): the set-up runs twice with equal snapshots, texts and times."""
    again = draft.set_up()
    same = (task.state, task.now, task.prompt, task.verifier_hash) == (
        again.state, again.now, again.prompt, again.verifier_hash)
    return "" if same else "the set-up gives another desk when it runs again"


def _idle(draft: DeskDraft, task: DeskTask) -> str:
    """Gate (ii): doing nothing and claiming everything scores at most MOST_IDLE."""
    before = normal(task.state)
    points = draft.verify(task, before, before, Transcript(CLAIM)).score
    return "" if points <= MOST_IDLE else f"the state before scores {points:g}, expected at most {MOST_IDLE:g}"


def _reference(draft: DeskDraft, task: DeskTask) -> str:
    """Gate (iii): the creator's own solution scores 100."""
    try:
        points = _verified(draft, task, _played(task, task.scripts.perfect)).score
    except EpisodeOver as error:
        return f"the reference cannot be played: {error}"
    return "" if points >= 100 else f"the reference scores {points:g}, expected 100"


def _near_misses(draft: DeskDraft, task: DeskTask) -> str:
    """Gate (iv): each near miss scores less than 100, and the check that it is about fails."""
    if len(task.scripts.near_misses) < FEWEST_NEAR_MISSES:
        return f"found {len(task.scripts.near_misses)} near misses, expected at least {FEWEST_NEAR_MISSES}"
    for place, miss in enumerate(task.scripts.near_misses, 1):
        found = _verified(draft, task, _played(task, miss.actions))
        failed = {one.id for one in found.checks if one.status == "fail"}
        if found.score >= 100 or miss.check not in failed:
            return f"near miss {place} scores {found.score:g}, expected the check {miss.check} to fail"
    return ""


def _bounded(draft: DeskDraft, task: DeskTask, clock: Callable[[], float]) -> str:
    """Gate (v): the verification ends in time and writes nothing. Conditions reach no network: they are data."""
    one = _played(task, task.scripts.perfect)
    before, after = one.snapshots()
    hashes, start = (digest(before), digest(after)), clock()
    draft.verify(task, before, after, one.transcript())
    if clock() - start > LONGEST_S:
        return f"the verification takes more than {LONGEST_S:g} s"
    return "" if (digest(before), digest(after)) == hashes else "the verification writes into a snapshot"


def _played(task: DeskTask, actions: tuple[str, ...]) -> DeskEpisode:
    return worked(task, [*actions, CLAIM])


def _verified(draft: DeskDraft, task: DeskTask, one: DeskEpisode) -> DeskGrade:
    return draft.verify(task, *one.snapshots(), one.transcript())
