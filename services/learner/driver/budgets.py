"""Rollout budgets: what is predicted of a request's tasks, how many rollouts each gets, and the figures of a step."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hone.algorithms.allocation.v0_5 import V05Params
from hone.algorithms.slots import needs
from hone.algorithms.value.bands import bands
from hone.algorithms.value.metrics import auc, calibration_error
from hone.api import value_pb2
from hone.resolution import scores
from hone.resolution.stages import Stage
from hone.spec.run import Slot
from hone.store.database import Row
from hone.trajectory.order import Budget, Waves
from services.learner.driver.peers import Peers, Task

ON_DEMAND = "v0_5"
"""The allocation whose groups are sampled in waves."""


@dataclass(frozen=True)
class Granted:
    """How the rollouts of one group were decided, as its order says it."""

    rollouts: int
    budget: Budget | None = None
    waves: Waves | None = None


class Budgets:
    """Decides on the rollouts of a stage's groups, by outcomes of the stage."""

    def __init__(self, stage: Stage, slots: Mapping[str, Any], peers: Peers, run_id: str) -> None:
        self._stage, self._slots, self._peers, self._run_id = stage, slots, peers, run_id
        self._slot = Slot.model_validate(slots["allocation"])
        self._bounds = scores.bounds(stage.spec)

    def grant(self, tasks: Sequence[Task], step: int) -> list[Granted]:
        """Return how many rollouts each task of a step gets.

        Outcomes of the step before are left out, because they may or may not be known at this time.
        """
        steps, predicted = (self._stage.first, step - 1), value_pb2.PredictResponse()
        if predicts(self._slots):
            predicted = self._peers.predict(self._run_id, tasks, steps, self._bounds)
        chances = [one.p for one in predicted.predictions] if predicted.reliable else []
        answer = self._peers.allocate(
            self._run_id, self._slot, [task.content_hash for task in tasks],
            len(tasks) * self._stage.spec.batch.samples, steps, self._bounds, chances)
        if not records(self._slots):
            return [Granted(rollouts) for rollouts in answer.rollouts]
        reason = answer.unreliable or predicted.reason
        return [self._granted(rollouts, budget) for rollouts, budget in zip(
            answer.rollouts, _budgets(answer, predicted, chances, reason), strict=True)]

    def _granted(self, rollouts: int, budget: Budget) -> Granted:
        if self._slot.name != ON_DEMAND or not budget.reliable or budget.predicted is None:
            return Granted(rollouts, budget)
        params = V05Params.model_validate(self._slot.params)
        return Granted(rollouts, budget, Waves(predicted=budget.predicted, most=params.k_max, cost=params.cost,
                                               mode=params.mode, bounds=self._bounds))


def predicts(slots: Mapping[str, Any]) -> bool:
    """Return whether a slot reads the predicted success of prompts."""
    return "predicted" in needs(slots, "allocation", "advantage")


def records(slots: Mapping[str, Any]) -> bool:
    """Return whether orders say how the rollouts of their group were decided."""
    return slots["allocation"]["name"] != "uniform" or predicts(slots)


def _budgets(
    answer: value_pb2.AllocateRolloutsResponse, predicted: value_pb2.PredictResponse, chances: Sequence[float],
    reason: str,
) -> list[Budget]:
    return [Budget(
        predicted=chances[place] if chances else None, reliable=bool(chances) and not answer.unreliable, doubt=reason,
        predictor=predicted.head_version, context_digest=predicted.context_digest,
        chance=None if math.isnan(chance) else chance, figures=dict(answer.metrics))
        for place, chance in enumerate(answer.chances)]


def used_prediction(group: Sequence[Row]) -> float | None:
    """Return the chance of success that was predicted for a group and used; None where there is none."""
    budget = group[0].get("budget") or {}
    return budget.get("predicted") if budget.get("reliable") else None


def metrics(groups: Sequence[Sequence[Row]], bounds: tuple[float, float]) -> dict[str, float]:
    """Return the metrics of a step's rollouts: how many, where they went, and how predictions agreed with outcomes."""
    low, high = bounds
    graded = [(group, [(row["score"] - low) / (high - low) for row in group if row["score"] is not None])
              for group in groups]
    known = [(group, found) for group, found in graded if found]
    signal = sum(max(found) - min(found) > 1e-8 for _, found in known) / max(1, len(known))
    sizes = [len(group) for group in groups]
    return {"rollouts/signal_share": signal, "rollouts/group_mean": sum(sizes) / max(1, len(sizes)),
            "rollouts/group_max": float(max(sizes, default=0)),
            **_figures(groups), **_agreement(known), **_bands(known)}


Graded = Sequence[tuple[Sequence[Row], Sequence[float]]]
"""Groups with the scores of their graded samples, from 0 to 1; each has one at least."""


def _figures(groups: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Return the figures of allocations, the mean over a step's groups."""
    found: dict[str, list[float]] = {}
    for group in groups:
        for name, value in ((group[0].get("budget") or {}).get("figures") or {}).items():
            found.setdefault(f"allocation/{name}", []).append(value)
    return {name: sum(values) / len(values) for name, values in found.items()}


def _agreement(known: Graded) -> dict[str, float]:
    if not any(group[0].get("budget") for group, _ in known):
        return {}
    pairs = [(chance, sum(found) / len(found)) for group, found in known
             if (chance := (group[0]["budget"] or {}).get("predicted")) is not None]
    used = sum(used_prediction(group) is not None for group, _ in known)
    measured = {"value/used_share": used / len(known)}
    if pairs:
        chances, outcomes = np.array(pairs, np.float64).T
        area = auc(outcomes, chances)
        measured |= {"value/predicted": float(chances.mean()), "value/actual": float(outcomes.mean()),
                     "value/calibration_error": calibration_error(outcomes, chances),
                     **({} if math.isnan(area) else {"value/auc": area})}
    return measured


def _bands(known: Graded) -> dict[str, float]:
    """Return the metrics of each band of the chances that allocations took, or that were predicted."""
    found = [(chance, float(len(group)), sum(rewards) / len(rewards)) for group, rewards in known
             if (chance := _expected(group)) is not None]
    if not found:
        return {}
    return {f"value/band/{name}/{field}": float(value)
            for name, band in bands(*np.array(found, np.float64).T).items() for field, value in band._asdict().items()}


def _expected(group: Sequence[Row]) -> float | None:
    budget = group[0].get("budget") or {}
    chance: float | None = budget.get("chance")
    return budget.get("predicted") if chance is None else chance
