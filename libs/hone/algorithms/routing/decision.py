"""Choice of the model that answers a prompt. Pure: chances of success and costs in, a place and the reason out."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hone.algorithms.inputs import Floats

DEFAULT_WEIGHT = 0.5
_TIE = 1e-12


@dataclass(frozen=True)
class Objective:
    """Objective of a choice: exactly one of the three."""

    weight: float | None = None  # of success; the rest is that of a low cost
    target: float | None = None  # chance of success that is enough
    max_cost: float | None = None  # in the unit of the costs

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if sum(value is not None for value in (self.weight, self.target, self.max_cost)) != 1:
            raise ValueError("expected one of weight, target and max_cost")


@dataclass(frozen=True)
class Decision:
    """The model that answers, and why."""

    place: int  # among the candidates
    scores: Floats  # [M], higher is better; the best one has place `best`
    best: int
    propensity: float  # chance with which the model at `place` was drawn
    reason: str

    @property
    def explored(self) -> bool:
        """Whether another model than the best one was drawn, so that its outcomes are known, too."""
        return self.place != self.best


def decide(
    chances: Floats, costs: Sequence[float], objective: Objective, exploration: float = 0.0, draw: float = 0.0,
) -> Decision:
    """Return which model answers, by its chance of success [M] and cost [M].

    With probability `exploration` every model is as likely as any other; `draw`, from 0 to below 1, decides.
    """
    values = scores(np.atleast_2d(chances), costs, objective)[0]
    best, models = int(np.argmax(values)), len(costs)
    place = min(int(draw / exploration * models), models - 1) if draw < exploration else best
    propensity = exploration / models + (1.0 - exploration) * (place == best)
    reason = _reason(chances, costs, objective, best) if place == best else (
        f"explored: {exploration:.3g} of the answers are drawn among all {models} candidates")
    return Decision(place, values, best, propensity, reason)


def scores(chances: Floats, costs: Sequence[float], objective: Objective) -> Floats:
    """Return how good each model is for each prompt, [N, M]; the first of the highest answers.

    `chances` is [N, M], `costs` [M]. By `weight` b a score is b p + (1 - b)(1 - c), with c = cost / highest cost. By
    `target` models that reach it come first, the cheaper the better, and then the others by their chance. By
    `max_cost` those within it come first by their chance, and then the others, the cheaper the better.
    """
    relative = relative_costs(costs)
    if objective.weight is not None:
        return objective.weight * chances + (1.0 - objective.weight) * (1.0 - relative)
    if objective.target is not None:
        enough = chances >= objective.target - _TIE
        return np.where(enough, 2.0 - relative, chances - 1e-6 * relative - 1.0)
    affordable = np.asarray(costs) <= (objective.max_cost or 0.0) + _TIE
    return np.where(affordable, 1.0 + chances - 1e-6 * relative, -relative)


def choices(chances: Floats, costs: Sequence[float], objective: Objective) -> NDArray[np.int64]:
    """Return the place of the model that answers each prompt, [N], without exploration."""
    found: NDArray[np.int64] = np.argmax(scores(chances, costs, objective), axis=1)
    return found


def unknown(models: int, chance: float = 0.5) -> Floats:
    """Return the chances [M] of models of which nothing is known."""
    return np.full(models, chance)


def relative_costs(costs: Sequence[float]) -> Floats:
    """Return costs [M] as shares of the highest; 0 where nothing costs anything."""
    found = np.asarray(costs, np.float64)
    highest = found.max(initial=0.0)
    return found / highest if highest > 0 else np.zeros_like(found)


def draw(id: str) -> float:
    """Return the number from 0 to below 1 that decides whether and what the decision with this id explores."""
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:6], "big") / 2**48


def _reason(chances: Floats, costs: Sequence[float], objective: Objective, best: int) -> str:
    chance, cost = float(chances[best]), costs[best]
    if objective.weight is not None:
        return (f"highest of {objective.weight:g} x success + {1.0 - objective.weight:.6g} x (1 - relative cost): "
                f"success {chance:.3f}, cost {cost:g}")
    if objective.target is not None:
        if chance >= objective.target - _TIE:
            return f"cheapest with a predicted success of at least {objective.target:g}: {chance:.3f}, cost {cost:g}"
        return f"none is predicted to reach {objective.target:g}; the likeliest to succeed: {chance:.3f}"
    if cost <= (objective.max_cost or 0.0) + _TIE:
        return f"likeliest to succeed at a cost of at most {objective.max_cost:g}: {chance:.3f}, cost {cost:g}"
    return f"none costs at most {objective.max_cost:g}; the cheapest, cost {cost:g}"
