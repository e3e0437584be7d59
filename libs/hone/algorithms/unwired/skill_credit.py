"""Rewards of Skill1's stages, and the utility of its skills: arXiv 2605.06130."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SMALLEST_IDEAL = 1e-8


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


def ndcg(order: Sequence[int] | None, utilities: Sequence[float]) -> float:
    """R_rank = DCG(order) / DCG(best order), DCG = sum_p U(order_p) / log2(p + 2), p from 0.

    0 if unparsable (None), with fewer than two candidates, or where the best order's DCG is below 1e-8.
    """
    ideal = _dcg(sorted(utilities, reverse=True))
    if order is None or len(utilities) < 2 or ideal < _SMALLEST_IDEAL:
        return 0.0
    return _dcg([utilities[place] for place in order]) / ideal


def distillation_reward(outcome: float, utilities: Sequence[float]) -> float:
    """R_dist = r - max U of the candidates; r where none was retrieved."""
    return outcome - max(utilities, default=0.0)


def utilisation_reward(outcome: float, invalid: int, plays: int, penalty: float) -> float:
    """R_util = r - penalty * share of play turns with an invalid action."""
    return outcome - penalty * invalid / max(1, plays)


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


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))
