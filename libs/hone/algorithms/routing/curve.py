"""The curve of cost and quality of a router, and of what it competes with. Pure: outcomes and predictions in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.routing.decision import Objective, choices, relative_costs

WEIGHTS = tuple(np.round(np.linspace(0.0, 1.0, 101), 2).tolist())
"""Weights of success by which a curve is drawn."""


@dataclass(frozen=True)
class Point:
    """Result of a way to choose, over all prompts."""

    setting: str  # a weight, a model, a share of prompts
    cost: float  # mean, as a share of the most expensive model's
    quality: float  # mean outcome


Curve = Sequence[Point]


@dataclass(frozen=True)
class Evaluated:
    """Curves by who chooses. `half` is the quality at half the cost of always asking the most expensive model."""

    curves: Mapping[str, Curve]
    half: Mapping[str, float]


def evaluate(
    outcomes: Floats, chances: Floats, lengths: Floats, costs: Sequence[float], names: Sequence[str],
) -> Evaluated:
    """Return the curves of a router that predicts `chances` [N, M], by outcomes [N, M] from 0 to 1.

    `lengths` [N] are the prompts', by which a heuristic sends long ones to the more expensive of two models. `random`
    mixes models whatever the prompt. `oracle` knows the outcomes: no router is above it.
    """
    relative = relative_costs(costs)
    single = [Point(name, float(cost), float(outcomes[:, place].mean()))
              for place, (name, cost) in enumerate(zip(names, relative, strict=True))]
    curves = {"router": _swept(outcomes, chances, relative), "random": single,
              "length": [*single, *_by_length(outcomes, lengths, relative, names)],
              "oracle": _swept(outcomes, outcomes, relative)}
    return Evaluated(curves, {name: quality_at(curve, 0.5) for name, curve in curves.items()})


def _swept(outcomes: Floats, chances: Floats, relative: Floats) -> Curve:
    rows, found = np.arange(len(outcomes)), dict[tuple[float, float], Point]()
    for weight in WEIGHTS:
        chosen = choices(chances, relative.tolist(), Objective(weight=weight))
        cost, quality = float(relative[chosen].mean()), float(outcomes[rows, chosen].mean())
        found.setdefault((cost, quality), Point(f"{weight:g}", cost, quality))
    return list(found.values())


def _by_length(outcomes: Floats, lengths: Floats, relative: Floats, names: Sequence[str]) -> Curve:
    """Return the result of sending the longest prompts to the more expensive of two models, for each pair."""
    order, points = np.argsort(lengths, kind="stable"), list[Point]()
    for one, other in combinations(range(len(relative)), 2):
        small, large = (one, other) if relative[one] <= relative[other] else (other, one)
        for share in np.linspace(0.1, 0.9, 9):
            cut = round(len(order) * (1.0 - share))
            quality = (outcomes[order[:cut], small].sum() + outcomes[order[cut:], large].sum()) / len(order)
            cost = (cut * relative[small] + (len(order) - cut) * relative[large]) / len(order)
            setting = f"the longest {share:.0%} to {names[large]}, else {names[small]}"
            points.append(Point(setting, float(cost), float(quality)))
    return points


def quality_at(curve: Curve, cost: float) -> float:
    """Return the highest quality at a mean cost of at most `cost`, where two points may be mixed by chance.

    NaN where every point costs more.
    """
    within = [point.quality for point in curve if point.cost <= cost]
    mixed = [low.quality + (cost - low.cost) / (high.cost - low.cost) * (high.quality - low.quality)
             for low in curve if low.cost <= cost for high in curve if high.cost > cost]
    return max([*within, *mixed], default=float("nan"))


def hull(curve: Curve) -> Curve:
    """Return the points of a curve that no mixture of others exceeds, from the cheapest on."""
    kept = list[Point]()
    for point in sorted(curve, key=lambda one: (one.cost, -one.quality)):
        if kept and point.quality <= kept[-1].quality:
            continue
        while len(kept) > 1 and _below(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _below(first: Point, middle: Point, last: Point) -> bool:
    return ((middle.quality - first.quality) * (last.cost - first.cost)
            <= (last.quality - first.quality) * (middle.cost - first.cost))
