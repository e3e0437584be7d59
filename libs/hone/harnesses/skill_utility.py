"""Utility of skills: how outcomes move it, which skills are retrieved, and which stay. Skill1, arXiv 2605.06130."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SkillRecord:
    """A skill of the library. Smaller ids are older."""

    id: int
    utility: float  # running mean of outcomes, in [0, 1]
    uses: int  # at least 1


def completed_order(named: Sequence[int], candidates: int) -> list[int] | None:
    """Return indices from 0 of the candidates that the policy named from 1, then the others in retrieval order.

    Unknown and repeated numbers are dropped. None if no number is valid.
    """
    valid = [number - 1 for number in dict.fromkeys(named) if 1 <= number <= candidates]
    return valid + [place for place in range(candidates) if place not in valid] if valid else None


def updated_utility(utility: float, outcome: float, alpha: float = 0.05) -> float:
    """U <- (1 - alpha) U + alpha r. A merge counts as an outcome of 0.5."""
    return (1 - alpha) * utility + alpha * outcome


def retirement_score(utility: float, uses: int) -> float:
    """U log2(n + 1): skills with a larger score stay longer."""
    return utility * math.log2(uses + 1)


def retained(skills: Sequence[SkillRecord], capacity: int = 5000) -> list[int]:
    """Return the ids of the skills that stay, best first; of two equal skills the older is better."""
    ranked = sorted(skills, key=lambda skill: (-retirement_score(skill.utility, skill.uses), skill.id))
    return [skill.id for skill in ranked[:capacity]]


def greedy_score(relevance: float, utility: float, w: float = 1.0) -> float:
    """w relevance + (1 - w) U; relevance is the cosine similarity of query and description."""
    return w * relevance + (1 - w) * utility


def ucb_score(relevance: float, utility: float, uses: int, all_uses: int, w: float = 1.0, c: float = 1.0) -> float:
    """w relevance + (1 - w) (U + c sqrt(ln N / n)), with N uses of all skills."""
    return greedy_score(relevance, utility + c * math.sqrt(math.log(all_uses) / uses), w)
