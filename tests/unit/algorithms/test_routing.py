"""Routing: V0's worked example 3, the three objectives, exploration, and the curves of cost and quality."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.algorithms.routing import curve, decision
from hone.algorithms.routing.chances import chances, cross_predicted
from hone.algorithms.routing.curve import Point
from hone.algorithms.routing.decision import Objective
from hone.algorithms.value.heads import RidgeWeights

CHANCES, COSTS = np.array([0.55, 0.75, 0.90]), [0.05, 0.30, 1.00]
NAMES = ["small", "mid", "big"]


@pytest.mark.parametrize(("weight", "expected", "place"), [
    (0.3, [0.830, 0.715, 0.270], 0), (0.6, [0.710, 0.730, 0.540], 1), (0.9, [0.590, 0.745, 0.810], 2)])
def test_the_router_of_the_specification(weight: float, expected: list[float], place: int) -> None:
    made = decision.decide(CHANCES, COSTS, Objective(weight=weight))
    np.testing.assert_allclose(made.scores, expected, atol=1e-9)
    assert made.place == place
    assert not made.explored
    assert f"success {CHANCES[place]:.3f}" in made.reason


@pytest.mark.parametrize(("objective", "place", "reason"), [
    (Objective(target=0.7), 1, "cheapest with a predicted success of at least 0.7"),
    (Objective(target=0.75), 1, "at least 0.75: 0.750"),
    (Objective(target=0.1), 0, "cheapest"),
    (Objective(target=0.95), 2, "none is predicted to reach 0.95; the likeliest to succeed: 0.900"),
    (Objective(max_cost=0.3), 1, "likeliest to succeed at a cost of at most 0.3: 0.750"),
    (Objective(max_cost=5.0), 2, "likeliest"),
    (Objective(max_cost=0.01), 0, "none costs at most 0.01; the cheapest, cost 0.05"),
])
def test_targets_and_caps(objective: Objective, place: int, reason: str) -> None:
    made = decision.decide(CHANCES, COSTS, objective)
    assert made.place == place
    assert reason in made.reason


def test_of_models_with_equal_chances_the_cheaper_answers() -> None:
    for objective in (Objective(weight=0.5), Objective(target=0.9), Objective(max_cost=2.0)):
        assert decision.decide(decision.unknown(3), [1.0, 0.2, 0.5], objective).place == 1
    free = decision.decide(np.array([0.2, 0.9]), [0.0, 0.0], Objective(weight=0.5))
    assert free.place == 1, "where nothing costs anything, success decides"


def test_an_objective_is_one_of_three() -> None:
    for wrong in ({}, {"weight": 0.5, "target": 0.5}):
        with pytest.raises(ValueError, match="expected one of weight, target and max_cost"):
            Objective(**wrong)


def test_exploration_draws_each_candidate_as_often_as_its_propensity_says() -> None:
    made = [decision.decide(CHANCES, COSTS, Objective(weight=0.9), 0.3, decision.draw(f"chatcmpl_{number}"))
            for number in range(20_000)]
    shares = np.bincount([one.place for one in made], minlength=3) / len(made)
    np.testing.assert_allclose(shares, [0.1, 0.1, 0.8], atol=0.01)
    assert {(one.place, round(one.propensity, 6)) for one in made} == {(0, 0.1), (1, 0.1), (2, 0.8)}
    assert all(one.explored == (one.place != 2) for one in made)
    assert "explored" in next(one.reason for one in made if one.explored)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e6)), min_size=1, max_size=8), st.floats(0, 1),
       st.floats(0, 1))
def test_what_answers_is_never_worse_and_dearer_than_another(
    models: list[tuple[float, float]], bound: float, draw: float
) -> None:
    known, costs = np.array([p for p, _ in models]), [cost for _, cost in models]
    for objective in (Objective(weight=bound), Objective(target=bound), Objective(max_cost=bound)):
        made = decision.decide(known, costs, objective, 0.0, draw)
        p, cost = models[made.place]
        enough = objective.target is not None and p >= bound - 1e-9
        assert enough or not any(other > p + 1e-5 and price < cost * (1 - 1e-9) - 1e-9 for other, price in models)
        assert np.isfinite(made.scores).all()


def test_a_model_with_few_outcomes_gets_its_share_of_successes() -> None:
    features, outcomes = np.random.default_rng(0).normal(size=(10, 4)), np.array([1.0] * 7 + [0.0] * 3)
    found, doubt = chances(features, outcomes, features[:2], "ridge", RidgeWeights())
    np.testing.assert_allclose(found, [8 / 12, 8 / 12])
    assert "10 prompts" in doubt
    nothing, doubt = chances(np.zeros((0, 0)), np.zeros(0), features[:2], "ridge", RidgeWeights())
    np.testing.assert_allclose(nothing, [0.5, 0.5])
    assert "no outcomes" in doubt


def test_what_is_compared_was_predicted_from_other_prompts() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(400, 200))
    outcomes = (random.random(400) < 0.5).astype(np.float64)
    folds = (np.arange(400) % 4).astype(np.float64)
    made = cross_predicted(features, outcomes, folds, "knn", RidgeWeights())
    assert abs(np.corrcoef(made, outcomes)[0, 1]) < 0.2, "noise cannot be predicted by whoever does not see it"
    outcomes = (features[:, 0] > 0).astype(np.float64)
    made = cross_predicted(features[:, :3], outcomes, folds, "knn", RidgeWeights())
    assert np.corrcoef(made, outcomes)[0, 1] > 0.7


def world(prompts: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return outcomes, true chances and lengths: the small model fails on hard prompts, whose length says little."""
    random = np.random.default_rng(3)
    hard = random.random(prompts)
    known = np.stack([1.0 - hard, 1.0 - 0.6 * hard, 1.0 - 0.2 * hard], 1)
    return (random.random(known.shape) < known).astype(np.float64), known, hard + random.normal(0, 2.0, prompts)


def test_a_router_that_predicts_is_between_random_mixing_and_the_oracle() -> None:
    outcomes, known, lengths = world()
    made = curve.evaluate(outcomes, known, lengths, [1.0, 4.0, 16.0], NAMES)
    half = made.half
    assert half["random"] + 0.03 < half["router"] < half["oracle"] <= 1.0
    assert half["random"] <= half["length"] < half["router"]
    ends = {point.setting: point for point in made.curves["random"]}
    assert ends["big"].cost == 1.0
    assert ends["small"].cost == 1 / 16
    flat = curve.evaluate(outcomes, np.full_like(known, 0.5), lengths, [1.0, 4.0, 16.0], NAMES)
    assert {point.cost for point in flat.curves["router"]} <= {1 / 16}, "who knows nothing asks the cheapest"


def test_quality_at_a_cost_mixes_two_points_and_is_unknown_below_the_cheapest() -> None:
    points = [Point("a", 0.2, 0.4), Point("b", 1.0, 0.8), Point("worse", 0.6, 0.3)]
    assert curve.quality_at(points, 0.6) == pytest.approx(0.6)
    assert curve.quality_at(points, 2.0) == 0.8
    assert np.isnan(curve.quality_at(points, 0.1))
    assert [point.setting for point in curve.hull(points)] == ["a", "b"]
