"""The switch planner against pilots that follow a power law and the oracle, and the pilots that it refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.schedules.switch_planner import Pilot, SwitchPlanner
from hone.spec.problems import Invalid
from tests.oracles import batch_size as oracle
from tests.oracles.scaling_law import ScalingLaw

BUDGETS = [10_000, 100_000, 1_000_000]
FRACTIONS = [0.5, 0.7, 0.8, 0.9, 0.95]


def pilots(tails, budgets=None, fractions=FRACTIONS):
    """Runs whose loss is a parabola in log(D - P) around D - P* = tail."""
    return [Pilot(budget=budget, fraction=fraction, loss=1 + math.log(budget * (1 - fraction) / tail) ** 2)
            for budget, tail in zip(budgets or BUDGETS, tails, strict=True) for fraction in fractions]


def power_law(gamma, c, budgets=None):
    return [math.exp(c) * budget**gamma for budget in budgets or BUDGETS]


@pytest.mark.parametrize(("gamma", "c"), [(0.866667, 0.0), (0.8, 0.5), (1.0, -1.5)])
def test_gamma_and_c_are_recovered_from_pilots_without_noise(gamma, c):
    planner = SwitchPlanner.fit(pilots(power_law(gamma, c)))
    assert (planner.gamma, planner.c) == pytest.approx((gamma, c), abs=1e-9)
    assert planner.flags == ()
    plan = planner.plan(10**7)
    tail = math.exp(c) * 1e7**gamma
    assert (plan.switch, plan.low, plan.high) == pytest.approx((1e7 - tail,) * 3, abs=tail * 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_gamma_is_within_2_percent_under_1_percent_noise(seed):
    tails = np.array(power_law(0.866667, 0.0)) * np.exp(0.01 * np.random.default_rng(seed).normal(size=3))
    assert SwitchPlanner.fit(pilots(tails)).gamma == pytest.approx(0.866667, rel=0.02)


def test_gamma_is_recovered_from_the_law_itself():
    law, budgets = ScalingLaw(s=0.3, beta=2), [10**8, 10**9, 10**10]
    fractions = [0.97, 0.98, 0.985, 0.99, 0.993, 0.995]
    runs = [Pilot(budget=budget, fraction=fraction, loss=law.two_stage(budget * (1 - fraction), budget, 16, 128))
            for budget in budgets for fraction in fractions]
    planner = SwitchPlanner.fit(runs)
    assert planner.flags == ()
    assert planner.gamma == pytest.approx(law.gamma(), rel=0.02)


@given(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(3, 8))
@settings(max_examples=40, deadline=None)
def test_the_plan_and_its_band_agree_with_the_oracle(seed, count, points):
    random = np.random.default_rng(seed)
    budgets = [int(each) for each in 1000 * 4.0 ** np.arange(count) * random.uniform(1, 2, count)]
    runs, tails = [], []
    for budget in budgets:
        rows = np.sort(random.uniform(0.02, 0.98, points)) * budget
        loss = (np.log(rows / rows[1:-1].mean()) ** 2) + 0.01 * random.uniform(size=points)
        loss[random.integers(1, points - 1)] = -0.1
        runs += [Pilot(budget=budget, fraction=1 - tail / budget, loss=each)
                 for tail, each in zip(rows, loss, strict=True)]
        tails.append(oracle.best_tail(rows, loss))
    planner = SwitchPlanner.fit([runs[place] for place in random.permutation(len(runs))])
    target = budgets[-1] * 7
    middle, least, most = oracle.prediction(budgets, tails, target)
    plan = planner.plan(target)
    expected = [max(0.0, target - rows) for rows in (middle, most, least)]
    np.testing.assert_allclose([plan.switch, plan.low, plan.high], expected, rtol=1e-6, atol=target * 1e-6)


def test_the_band_is_two_standard_errors_of_a_new_prediction():
    planner = SwitchPlanner.fit(pilots([1000.0, 8000.0, 50_000.0]))
    plan = planner.plan(100_000)
    rows = [math.log(100_000 - each) for each in (plan.high, plan.switch, plan.low)]
    residuals = np.array([0.0, math.log(8), math.log(50)]) - math.log(400) / 3 - np.array([-1, 0, 1]) * math.log(50) / 2
    error = math.sqrt(float(residuals @ residuals) * (1 + 1 / 3))
    np.testing.assert_allclose(np.diff(rows), [2 * error, 2 * error], rtol=1e-9)


def test_a_plan_stays_within_the_budget():
    plan = SwitchPlanner.fit(pilots([2000.0, 40_000.0, 500_000.0])).plan(10**7)
    assert plan.low == 0
    assert 0 <= plan.low <= plan.switch <= plan.high <= 10**7


def test_a_tail_beyond_the_budget_is_large_batches_throughout():
    runs = pilots(power_law(1.3, -4.8), fractions=[0.1, 0.4, 0.7, 0.9, 0.95])
    plan = SwitchPlanner.fit(runs).plan(2 * 10**7)
    assert (plan.low, plan.switch, plan.high, plan.flags) == (0, 0, 0, ())
    assert [(stage.until, stage.rows) for stage in plan.stages(16, 32)] == [(2 * 10**7, 32)]


def test_stages_switch_at_the_rounded_plan():
    plan = SwitchPlanner.fit(pilots(power_law(0.8, 0.5))).plan(500_000)
    switch = round(500_000 - math.exp(0.5) * 500_000**0.8)
    assert [(stage.until, stage.rows) for stage in plan.stages(16, 64)] == [(switch, 16), (500_000, 64)]


@pytest.mark.parametrize("budget", [333, 30_000_001, 10**12])
def test_extrapolation_beyond_30_times_is_refused(budget):
    planner = SwitchPlanner.fit(pilots(power_law(0.8, 0.5)))
    with pytest.raises(Invalid, match=f"budget: found {budget}, expected 334 to 30000000 rows"):
        planner.plan(budget)


@pytest.mark.parametrize("budget", [334, 30_000_000])
def test_30_times_is_not_too_far(budget):
    assert SwitchPlanner.fit(pilots(power_law(0.8, 0.5))).plan(budget).budget == budget


@pytest.mark.parametrize(("tail", "edge"), [(1.0, 0.95), (99_000.0, 0.5)])
def test_the_edge_of_a_grid_is_taken_as_it_is_and_flagged(tail, edge):
    runs = pilots([2000.0, tail, 200_000.0])
    flagged = SwitchPlanner.fit(runs)
    assert flagged.flags == (f"budget 100000: the best fraction, {edge}, is at the edge of its grid",)
    assert flagged.plan(10**6).flags == flagged.flags
    at_the_edge = SwitchPlanner.fit(pilots([2000.0, 100_000 * (1 - edge) * (1 + 1e-12), 200_000.0]))
    assert flagged.gamma == pytest.approx(at_the_edge.gamma, abs=1e-9)
    assert flagged.c == pytest.approx(at_the_edge.c, abs=1e-9)


def test_losses_that_do_not_differ_are_flagged():
    flat = [Pilot(budget=budget, fraction=fraction, loss=1.0) for budget in BUDGETS for fraction in FRACTIONS]
    assert len(SwitchPlanner.fit(flat).flags) == 3


def test_the_vertex_lies_in_the_middle_of_two_equal_losses():
    losses = [2.0, 1.0, 1.0, 2.0]
    runs = [Pilot(budget=budget, fraction=1 - 0.5**place, loss=loss)
            for budget in BUDGETS for place, loss in enumerate(losses, start=1)]
    planner = SwitchPlanner.fit(runs)
    assert (planner.gamma, planner.c) == pytest.approx((1.0, 2.5 * math.log(0.5)), abs=1e-9)


def test_runs_of_one_setting_count_as_their_mean():
    runs = pilots(power_law(0.8, 0.5))
    twice = [run.model_copy(update={"loss": run.loss + shift}) for run in runs for shift in (-0.3, 0.3)]
    assert SwitchPlanner.fit(twice).gamma == pytest.approx(0.8, abs=1e-9)


@pytest.mark.parametrize(("runs", "message"), [
    ([], r"pilots: found budgets \[\], expected at least 3 different ones"),
    (pilots([2000.0, 9000.0], BUDGETS[:2]), r"pilots: found budgets \[10000, 100000\], expected"),
    (pilots(power_law(0.8, 0.5), fractions=[0.5, 0.9]), r"fractions \[0.5, 0.9\] of budget 10000, expected at least 3"),
])
def test_too_few_pilots_are_refused(runs, message):
    with pytest.raises(Invalid, match=message):
        SwitchPlanner.fit(runs)


@pytest.mark.parametrize("changes", [
    {"fraction": 1.0}, {"fraction": -0.1}, {"budget": 0}, {"loss": math.nan}, {"loss": math.inf}, {"seed": 1},
])
def test_pilots_that_say_nothing_are_refused(changes):
    with pytest.raises(ValidationError):
        Pilot.model_validate({"budget": 10, "fraction": 0.5, "loss": 1.0, **changes})
