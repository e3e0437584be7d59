"""What is predicted of tasks goes into their orders and into the figures of a step."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from hone.algorithms import presets
from hone.api import value_pb2
from hone.spec.run import AlgorithmSpec
from services.learner.driver import budgets
from services.learner.driver.budgets import Budgets, Granted
from services.learner.driver.peers import Task
from tests.support.learner.samples import spec

TASKS = [Task({}, "a"), Task({}, "b")]


class Peers:
    """Predicts and allocates as it is set to."""

    def __init__(self, **predicted: Any) -> None:
        self.predicted = value_pb2.PredictResponse(
            predictions=[value_pb2.Prediction(p=0.25), value_pb2.Prediction(p=0.75)], head_version="h",
            context_digest="d", **predicted)
        self.unreliable, self.asked = "", list[Any]()

    def predict(self, *asked: Any) -> value_pb2.PredictResponse:
        self.asked.append(asked)
        return self.predicted

    def allocate(self, *asked: Any) -> value_pb2.AllocateRolloutsResponse:
        self.asked.append(asked)
        return value_pb2.AllocateRolloutsResponse(
            rollouts=[4, 4], chances=[0.25, math.nan], metrics={"unspent": 1.0}, unreliable=self.unreliable)


def granted(peers: Peers, preset: str) -> list[Granted]:
    stage: Any = SimpleNamespace(first=2, spec=spec(batch={"samples": 8}))
    given: Any = peers
    return Budgets(stage, presets.resolve(AlgorithmSpec(preset=preset)), given, "run_a").grant(TASKS, 5)


def test_a_reliable_prediction_is_in_the_order_with_its_waves() -> None:
    peers = Peers(reliable=True)
    first, second = granted(peers, "v0_5")
    assert first.waves is not None
    assert first.waves.model_dump() == {
        "predicted": 0.25, "most": 16, "cost": 1 / 256, "mode": "one", "bounds": (0, 1)}
    assert first.budget is not None
    assert first.budget.model_dump() == {
        "predicted": 0.25, "reliable": True, "doubt": "", "predictor": "h", "context_digest": "d", "chance": 0.25,
        "figures": {"unspent": 1.0}}
    assert second.budget is not None
    assert (second.budget.predicted, second.budget.chance) == (0.75, None)
    assert peers.asked[0] == ("run_a", TASKS, (2, 4), (0, 1))
    assert peers.asked[1][2:] == (["a", "b"], 16, (2, 4), (0, 1), [0.25, 0.75])


@pytest.mark.parametrize(("reliable", "unreliable", "predicted"), [(False, "", None), (True, "few accepted", 0.25)])
def test_an_unreliable_prediction_decides_nothing(reliable: bool, unreliable: str, predicted: float | None) -> None:
    peers = Peers(reliable=reliable, reason="" if reliable else "too few outcomes")
    peers.unreliable = unreliable
    first, _ = granted(peers, "v0_5")
    assert first.waves is None
    assert first.budget is not None
    assert (first.budget.predicted, first.budget.reliable) == (predicted, False)
    assert first.budget.doubt == (unreliable or "too few outcomes")
    assert budgets.used_prediction([{"budget": first.budget.model_dump()}]) is None


def test_equal_shares_need_no_words() -> None:
    peers = Peers()
    assert granted(peers, "grpo") == [Granted(4), Granted(4)]
    assert len(peers.asked) == 1


def rows(scores: list[float | None], **budget: Any) -> list[Any]:
    return [{"score": score, "budget": {"reliable": True, **budget} if budget else None} for score in scores]


def test_the_figures_of_a_step() -> None:
    groups = [rows([1.0, 0.0, None], predicted=0.3, chance=None, figures={"tau": 4.0}),
              rows([1.0, 1.0], predicted=0.9, chance=0.5, figures={"tau": 6.0}), rows([None])]
    found = budgets.metrics(groups, (0.0, 1.0))
    assert found["rollouts/signal_share"] == 0.5
    assert (found["rollouts/group_mean"], found["rollouts/group_max"]) == (2.0, 3.0)
    assert found["allocation/tau"] == 5
    assert found["value/used_share"] == 1
    assert (found["value/predicted"], found["value/actual"]) == pytest.approx((0.6, 0.75))
    assert found["value/calibration_error"] == pytest.approx((0.2 + 0.1) / 2)
    assert found["value/band/20-40/rollouts"] == 3
    assert found["value/band/40-60/actual"] == 1
    assert "value/auc" not in found
    assert budgets.metrics([], (0.0, 1.0))["rollouts/signal_share"] == 0
