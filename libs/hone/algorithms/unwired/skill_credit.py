"""Rewards of the stages of Skill1 and the worth of its skills: arXiv 2605.06130."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SMALLEST_IDEAL = 1e-8


@dataclass(frozen=True)
class Standing:
    """What is known of a skill; smaller ids are older."""

    id: int
    utility: float  # running mean of outcomes, in [0, 1]
    uses: int  # at least 1


def completed_order(named: Sequence[int], candidates: int) -> list[int] | None:
    """Return places from 0 of what the policy named from 1, the rest in retrieval order; None if nothing is valid.

    Numbers that are no candidate's, or come again, are dropped.
    """
    valid = [number - 1 for number in dict.fromkeys(named) if 1 <= number <= candidates]
    return valid + [place for place in range(candidates) if place not in valid] if valid else None


def ndcg(order: Sequence[int] | None, utilities: Sequence[float]) -> float:
    """R_rank = DCG(order) / DCG(best order), DCG = sum_p U(order_p) / log2(p + 2), places from 0.

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
    """U <- (1 - alpha) U + alpha r; a merge counts as the outcome 0.5."""
    return (1 - alpha) * utility + alpha * outcome


def retirement_score(utility: float, uses: int) -> float:
    """U log2(n + 1): the larger, the longer a skill stays."""
    return utility * math.log2(uses + 1)


def retained(skills: Sequence[Standing], capacity: int = 5000) -> list[int]:
    """Return the ids of the skills that stay, best first; the older of two equals stays."""
    ranked = sorted(skills, key=lambda skill: (-retirement_score(skill.utility, skill.uses), skill.id))
    return [skill.id for skill in ranked[:capacity]]


def greedy_score(relevance: float, utility: float, w: float = 1.0) -> float:
    """w relevance + (1 - w) U; relevance is the cosine of query and description."""
    return w * relevance + (1 - w) * utility


def ucb_score(relevance: float, utility: float, uses: int, all_uses: int, w: float = 1.0, c: float = 1.0) -> float:
    """w relevance + (1 - w) (U + c sqrt(ln N / n)), N the uses of all skills."""
    return greedy_score(relevance, utility + c * math.sqrt(math.log(all_uses) / uses), w)


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))
