"""Curation: trajectories to imitate and tasks to train on, by the graph of a task's rollouts.

A reconstruction: the formulas have all properties that were stated of the published ones.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats
from hone.algorithms.topocurate.graph import STOP, Graph, steps
from hone.spec.parameters import Strict

_SLACK = 1e-9
_FEWEST = 4
"""Rollouts below which the statistics of a graph mean nothing."""


class CurationParams(Strict):
    """Smoothing, thresholds and weights of the choice."""

    smoothing: float = Field(1.0, ge=0, description="k in the potential (s + k p) / (n + k) of a node.")
    drop: float = Field(0.15, ge=0, le=1, description="Fall of the potential from which a turn is a setback.")
    reflection: float = Field(1 / 3, ge=0, description="Weight of recovery in a trajectory's score.")
    efficiency: float = Field(1 / 3, ge=0, description="Weight of efficiency in it.")
    diversity: float = Field(1 / 3, ge=0, description="Weight of diversity in it.")
    error_branches: float = Field(1.0, ge=0, description="Weight of the error branch ratio in a task's score.")
    heterogeneity: float = Field(1.0, ge=0, description="Weight of the heterogeneity in it.")
    keep: int = Field(2, ge=1, description="Trajectories of a task that are selected.")
    temperature: float = Field(0.5, gt=0, description="T in the probability of a task, in proportion to exp(q / T).")


@dataclass(frozen=True)
class TrajectoryScore:
    """Metrics of a successful trajectory and the weight that follows from them."""

    reflection: float  # potential that it won back after setbacks
    efficiency: float  # shortest successful path over its own length
    diversity: float  # mean surprise of its choices among successful ones
    weight: float
    selected: bool


@dataclass(frozen=True)
class TaskScore:
    """Metrics of a task, and how much it is worth training on."""

    rollouts: int
    pass_rate: float
    error_branches: float  # share of choices that no successful trajectory took
    heterogeneity: float  # different chains of turns over rollouts
    score: float  # q; 0 where every rollout succeeds, or none
    few: bool  # too few rollouts: the score is 4 p (1 - p), and weights are equal


def recovery(graph: Graph, path: Sequence[int], drop: float) -> float:
    """Return the sum over setbacks of the potential that is won back before the next one.

    A setback is a fall of the potential by at least `drop`, at a node that the path reaches for the first time.
    """
    potential = [graph.potential(node) for node in path[:-1]] + [1.0]
    falls = [place for place in range(1, len(path) - 1)
             if potential[place - 1] - potential[place] >= drop - _SLACK and path[place] not in path[:place]]
    return sum(max(0.0, max(potential[fall + 1:end + 1]) - potential[fall])
               for fall, end in pairwise([*falls, len(path) - 1]))


def efficiency(graph: Graph, path: Sequence[int]) -> float:
    """Return the length of the shortest path over edges of successful rollouts, over the path's own length."""
    return graph.shortest / (len(path) - 1)


def diversity(graph: Graph, path: Sequence[int]) -> float:
    """Return the mean of -ln(share of successful rollouts that go on as the path does) where they go on differently."""
    surprises = []
    for node, after in steps(path):
        onward = graph.won_onward.get(node, set())
        if len(onward) > 1:
            total = sum(graph.won_edges[node, other] for other in onward)
            surprises.append(-math.log(graph.won_edges[node, after] / total))
    return sum(surprises) / len(surprises) if surprises else 0.0


def trajectories(graph: Graph, params: CurationParams) -> list[TrajectoryScore | None]:
    """Return the score of each rollout's trajectory, None for one that failed. Ties: the earlier trajectory."""
    places = [place for place, success in enumerate(graph.successes) if success]
    metrics = np.array([[recovery(graph, graph.paths[place], params.drop), efficiency(graph, graph.paths[place]),
                         diversity(graph, graph.paths[place])] for place in places], np.float64).reshape(-1, 3)
    weights = _normalised(metrics) @ [params.reflection, params.efficiency, params.diversity]
    if len(graph.paths) < _FEWEST:
        weights = np.zeros(len(places))
    chosen = set(np.argsort(-np.round(weights, 9), kind="stable")[:params.keep].tolist())
    found: list[TrajectoryScore | None] = [None] * len(graph.paths)
    for number, place in enumerate(places):
        recovered, short, rare = metrics[number].tolist()
        found[place] = TrajectoryScore(recovered, short, rare, float(weights[number]), number in chosen)
    return found


def _normalised(metrics: Floats) -> Floats:
    """Return each column from 0 to 1; 0 where it does not vary."""
    if not len(metrics):
        return metrics
    low, spread = metrics.min(axis=0), np.ptp(metrics, axis=0)
    found: Floats = np.where(spread > _SLACK, (metrics - low) / np.where(spread > _SLACK, spread, 1.0), 0.0)
    return found


def task(graph: Graph, params: CurationParams) -> TaskScore:
    """Return the score of a task: q = b1 (error branches) + b2 (heterogeneity), 0 where its pass rate is 0 or 1."""
    branches = [(node, after) for node, onward in graph.onward.items() if len(onward) > 1 and node != STOP
                for after in onward]
    errors = sum(branch not in graph.won_edges for branch in branches) / len(branches) if branches else 0.0
    chains = {tuple(node for place, node in enumerate(path) if place == 0 or node != path[place - 1])
              for path in graph.paths}
    many = len(graph.paths)
    scored = TaskScore(many, graph.pass_rate, errors, len(chains) / max(1, many), 0.0, many < _FEWEST)
    return replace(scored, score=worth(scored, params))


def worth(one: TaskScore, params: CurationParams) -> float:
    """Return q of a task by its metrics."""
    rate = one.pass_rate
    if not 0 < rate < 1:
        return 0.0
    if one.few:
        return 4 * rate * (1 - rate)
    return params.error_branches * one.error_branches + params.heterogeneity * one.heterogeneity


def probabilities(scores: Sequence[TaskScore], params: CurationParams) -> list[float]:
    """Return the probability of each task, in proportion to exp(q / T); 0 where every rollout succeeds, or none."""
    usable = [0 < one.pass_rate < 1 for one in scores]
    weights = np.array([math.exp((one.score - max(each.score for each in scores)) / params.temperature) if use else 0.0
                        for one, use in zip(scores, usable, strict=True)], np.float64)
    total = weights.sum()
    return [float(weight / total) for weight in weights] if total else [0.0] * len(scores)
