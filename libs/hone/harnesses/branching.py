"""Choice of the turns of a task's episodes that are branched. SelSkill, arXiv 2606.00510 (reconstruction)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SPACING = 3
"""Fewest turns between two branches of an episode."""


@dataclass(frozen=True)
class Candidate:
    """A turn that may become a branch."""

    episode: int
    turn: int
    entropy: float  # mean over the turn's tokens, nats
    invoked: bool  # whether a skill was called in the turn


def branches(candidates: Iterable[Candidate], most: int = 4) -> list[Candidate]:
    """Return at most `most` branches among the candidates of a task, in the order of choice.

    Candidates are tried by falling entropy (ties: lower episode, lower turn). Each needs SPACING turns to chosen ones
    of its episode. The first pass takes at most most // 2 with a call and as many without; the second pass takes any.
    """
    ranked = sorted(candidates, key=lambda each: (-each.entropy, each.episode, each.turn))
    chosen: list[Candidate] = []
    for each in ranked:
        if sum(each.invoked == other.invoked for other in chosen) < most // 2 and _apart(each, chosen):
            chosen.append(each)
    for each in ranked:
        if len(chosen) < most and _apart(each, chosen):
            chosen.append(each)
    return chosen


def _apart(candidate: Candidate, chosen: Sequence[Candidate]) -> bool:
    return all(other.episode != candidate.episode or abs(other.turn - candidate.turn) >= SPACING for other in chosen)
