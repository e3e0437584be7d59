"""Batch-size schedules, the scaling law and the noise scale against worked numbers, exact properties and the oracle."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import AGGREGATIONS, BATCH_SIZES
from hone.algorithms.schedules.batch_size import BatchSizeParams, Consumption, FslParams, fsl_stages, refuse_uneven
from hone.spec.problems import Invalid
from tests.oracles import batch_size as oracle
from tests.oracles.scaling_law import ScalingLaw

HARD, EASY = ScalingLaw(s=0.3, beta=2), ScalingLaw(s=1.2, beta=2)
SMALL, LARGE = 16, 128


def batches(name, params, budget, start=0):
    sizes, taken = [], start
    while taken < budget:
        rows, _, _ = BATCH_SIZES[name](Consumption(taken, budget), params, {})
        sizes.append(rows)
        taken += rows
    return sizes


def switched(fraction, small=4, large=8):
    return {"small": small, "large": large, "fraction": fraction}


# Schedules.


def test_constant_is_cut_only_at_the_end():
    assert batches("constant", {"rows": 4}, 14) == [4, 4, 4, 2]


def test_a_batch_has_the_size_of_the_stage_at_its_start():
    stages = [{"until": 5, "rows": 4}, {"until": 12, "rows": 6}]
    assert batches("stages", {"stages": stages}, 30) == [4, 4, 6, 6, 6, 4]


@pytest.mark.parametrize(("fraction", "expected"), [
    (0.0, [8, 8, 4]), (1.0, [4, 4, 4, 4, 4]), (0.6, [4, 4, 4, 8]), (0.61, [4, 4, 4, 8]), (0.625, [4, 4, 4, 4, 4]),
])
def test_late_switch_and_its_limits(fraction, expected):
    assert batches("late_switch", switched(fraction), 20) == expected


def test_a_half_is_rounded_up():
    assert batches("late_switch", switched(0.5, 1, 2), 5) == [1, 1, 1, 2]


def test_the_defaults_switch_once_at_80_percent_to_twice_the_rows():
    sizes = batches("late_switch", {}, 51200)
    assert sizes == [512] * 80 + [1024] * 10


def test_rows_are_reported_before_the_cut_with_the_stage():
    rows, state, metrics = BATCH_SIZES["late_switch"](Consumption(18, 20), switched(0.6), {"kept": 1})
    assert (rows, state, metrics["rows"], metrics["stage"]) == (2, {"kept": 1}, 8.0, 1.0)


@pytest.mark.parametrize("name", ["constant", "late_switch", "fsl"])
@pytest.mark.parametrize(("consumed", "budget"), [(20, 20), (25, 20), (0, 0)])
def test_nothing_is_left_after_the_budget(name, consumed, budget):
    assert BATCH_SIZES[name](Consumption(consumed, budget), {}, {})[0] == 0


@pytest.mark.parametrize(("given", "warnings"), [
    (Consumption(0, 10), (0, 0)), (Consumption(0, 10, unique=10), (0, 0)), (Consumption(0, 10, unique=9), (1, 0)),
    (Consumption(0, 10, rate=0.0), (0, 1)), (Consumption(0, 10, unique=5, rate=0.001), (1, 1)),
])
def test_data_seen_twice_and_a_vanished_learning_rate_are_warned_of(given, warnings):
    _, _, metrics = BATCH_SIZES["late_switch"](given, {}, {})
    assert (metrics["second_pass"], metrics["rate_decayed"]) == warnings


@pytest.mark.parametrize(("name", "params"), [
    ("late_switch", {"small": 8, "large": 8}), ("fsl", {"small": 8, "large": 4}), ("late_switch", {"fraction": 1.1}),
    ("stages", {"stages": []}), ("stages", {"stages": [{"until": 5, "rows": 4}, {"until": 5, "rows": 8}]}),
    ("stages", {"stages": [{"until": 5, "rows": 4}, {"until": 9, "rows": 2}]}), ("constant", {"rows": 0}),
])
def test_schedules_that_do_not_grow_are_refused(name, params):
    with pytest.raises(ValidationError):
        BATCH_SIZES[name](Consumption(0, 10), params, {})


@pytest.mark.parametrize(("name", "params", "uneven"), [
    ("constant", {"rows": 12}, []), ("constant", {"rows": 10}, ["10"]), ("fsl", {"small": 6, "large": 50}, ["6"]),
    ("late_switch", {"small": 4, "large": 6}, ["6"]), ("late_switch", {"small": 4}, []),
    ("stages", {"stages": [{"until": 1, "rows": 2}, {"until": 2, "rows": 4}, {"until": 3, "rows": 7}]}, ["2", "7"]),
])
def test_sizes_must_be_whole_micro_batches(name, params, uneven):
    valid = BATCH_SIZES[name].params.model_validate(params)
    assert isinstance(valid, BatchSizeParams)
    if not uneven:
        refuse_uneven(valid, 4)
        return
    with pytest.raises(Invalid) as refused:
        refuse_uneven(valid, 4)
    assert [problem.found for problem in refused.value.problems] == uneven
    assert "multiple of the micro-batch (4 rows)" in str(refused.value)


@st.composite
def schedules(draw):
    """A schedule and its stages by the oracle."""
    budget, small = draw(st.integers(1, 5000)), draw(st.integers(1, 40))
    name = draw(st.sampled_from(["constant", "stages", "late_switch"]))
    if name == "constant":
        return budget, name, {"rows": small}, [(budget, small)]
    if name == "late_switch":
        large, fraction = small + draw(st.integers(1, 200)), draw(st.floats(0, 1))
        return budget, name, switched(fraction, small, large), [
            (math.floor(fraction * budget + 0.5), small), (budget, large)]
    untils = sorted(draw(st.sets(st.integers(1, 6000), min_size=1, max_size=4)))
    sizes = sorted(draw(st.lists(st.integers(1, 99), min_size=len(untils), max_size=len(untils))))
    stages = [{"until": until, "rows": rows} for until, rows in zip(untils, sizes, strict=True)]
    return budget, name, {"stages": stages}, list(zip(untils, sizes, strict=True))


@given(schedules())
@settings(max_examples=100, deadline=None)
def test_schedules_agree_with_the_oracle(case):
    budget, name, params, stages = case
    assert batches(name, params, budget) == oracle.batches(stages, budget)


growths = st.fixed_dictionaries({
    "small": st.integers(1, 64), "factor": st.floats(1.1, 70), "beta": st.floats(1.05, 5),
    "eta": st.floats(0.001, 1), "growth": st.floats(0, 1), "budget": st.integers(1, 30_000)})


def grown(case):
    params = {name: case[name] for name in ("small", "beta", "eta", "growth")}
    return params | {"large": max(case["small"] + 1, int(case["small"] * case["factor"]))}, case["budget"]


@given(growths)
@settings(max_examples=100, deadline=None)
def test_the_levels_of_fsl_agree_with_the_oracle(case):
    params, budget = grown(case)
    lengths = oracle.fsl_lengths(**params, budget=budget)
    starts = np.cumsum([0.0, *lengths[:-1]])
    for level, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        if length > 4:  # elsewhere a boundary rounds into its neighbour
            inside = [math.ceil(start + 1), math.floor(start + length - 1)]
            for consumed in inside:
                _, _, metrics = BATCH_SIZES["fsl"](Consumption(consumed, budget), params, {})
                assert metrics["rows"] == params["small"] * 2**level


@pytest.mark.parametrize(("growth", "expected"), [(0.0, [4, 4, 4, 4]), (1.0, [8, 8]), (0.2, [4, 4, 4, 4])])
def test_fsl_limits(growth, expected):
    assert batches("fsl", {"small": 4, "large": 8, "growth": growth}, 16) == expected


def test_fsl_without_room_for_a_power_of_two_is_constant():
    assert batches("fsl", {"small": 4, "large": 7, "growth": 0.5}, 16) == [4, 4, 4, 4]


def test_boundaries_are_rounded_half_up_and_empty_levels_left_out():
    ends = np.cumsum(oracle.fsl_lengths(8, 2**20, 2.0, 1_000_001, 0.05, 0.5))
    found = fsl_stages(1_000_001, FslParams(small=8, large=2**20, growth=0.5))
    assert [stage.until for stage in found] == sorted({math.floor(end + 0.5) for end in ends})
    assert [stage.rows for stage in found] == [8 * 2**level for level in range(9)]
    assert found[0].until == 500_001


def test_fsl_grows_over_the_last_part_by_powers_of_two():
    sizes = batches("fsl", {"small": 8, "large": 70, "growth": 0.2}, 100_000)
    assert sorted(set(sizes[:-1])) == [8, 16, 32, 64]
    assert sizes.count(8) * 8 == 80_000


@st.composite
def resumed(draw):
    if draw(st.booleans()):
        params, budget = grown(draw(growths))
        name = "fsl"
    else:
        budget, name, params, _ = draw(schedules())
    return name, params, budget, draw(st.floats(0, 1))


@given(resumed())
@settings(max_examples=50, deadline=None)
def test_a_schedule_sums_to_the_budget_never_shrinks_and_resumes_anywhere(case):
    name, params, budget, where = case
    whole = batches(name, params, budget)
    assert sum(whole) == budget
    assert whole[:-1] == sorted(whole[:-1])
    done = int(where * len(whole))
    assert batches(name, params, budget, sum(whole[:done])) == whole[done:]


def test_a_changed_budget_is_planned_again_from_the_consumed_rows():
    early, _, _ = BATCH_SIZES["late_switch"](Consumption(70, 100), switched(0.8), {})
    shorter, _, _ = BATCH_SIZES["late_switch"](Consumption(70, 80), switched(0.8), {})
    assert (early, shorter) == (4, 8)


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
@pytest.mark.parametrize("micro_batch", [1, 2, 4])
def test_the_loss_of_a_batch_does_not_depend_on_its_micro_batches(name, micro_batch):
    random = np.random.default_rng(3)
    rows, _, _ = BATCH_SIZES["late_switch"](Consumption(90, 100), switched(0.8), {})
    tokens = random.integers(1, 9, rows)
    weights, _, _ = AGGREGATIONS[name](AggregationInputs(tokens, 9), {}, {})
    features = [torch.tensor(random.normal(size=(length, 3))) for length in tokens]

    def gradient(split):
        policy = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        for begin in range(0, rows, split):
            part = range(begin, min(begin + split, rows))
            sum(weights[row] * (features[row] @ policy - 1).square().sum() for row in part).backward()
        return policy.grad

    torch.testing.assert_close(gradient(micro_batch), gradient(rows), rtol=1e-12, atol=1e-12)


# The law.


def test_gamma_and_the_kernel_at_zero():
    assert HARD.gamma() == pytest.approx(0.866667, abs=1e-6)
    assert HARD.kernel(0) == 1


@pytest.mark.parametrize(("beta", "expected"), [
    (2, [0.697563, 0.429236, 0.218071, 0.096440]), (1.25, [0.827205, 0.632749, 0.423421, 0.248221]),
])
def test_the_catch_up_gap_worked_numbers(beta, expected):
    law = ScalingLaw(s=0.3, beta=beta)
    ratios = [law.kappa(x, x + 1000) / law.kappa(0, 1000) for x in (1, 4, 16, 64)]
    np.testing.assert_allclose(ratios, expected, atol=1e-6)


@pytest.mark.parametrize(("law", "budget", "share", "best", "small", "large"), [
    (HARD, 1e5, 0.98165, 0.183755, 0.184188, 0.331163), (HARD, 1e6, 0.97061, 0.092352, 0.095572, 0.167520),
    (HARD, 1e7, 0.97666, 0.046421, 0.051042, 0.084413),
    (EASY, 1e5, 0.664, 0.003349, 0.006907, 0.012590), (EASY, 1e6, 0.346, 0.001129, 0.006202, 0.001515),
])
def test_the_two_stage_law_worked_numbers(law, budget, share, best, small, large):
    tail = law.best_tail(budget, SMALL, LARGE)
    assert 1 - tail / budget == pytest.approx(share, abs=1e-5 if law is HARD else 5e-4)
    risks = [float(law.two_stage(each, budget, SMALL, LARGE)) for each in (tail, 0.0, budget)]
    np.testing.assert_allclose(risks, [best, small, large], atol=1e-6)


@pytest.mark.parametrize(("budget", "early", "late"), [
    (1e5, 0.256388, 0.186120), (1e6, 0.129199, 0.093452), (1e7, 0.065142, 0.047096),
])
def test_early_and_late_switches_worked_numbers(budget, early, late):
    risks = HARD.two_stage(budget * np.array([0.8, 0.1]), budget, SMALL, LARGE)
    np.testing.assert_allclose(risks, [early, late], atol=1e-6)


def test_local_slopes_of_the_tail_approach_gamma():
    tails = [HARD.best_tail(10**exponent, SMALL, LARGE) for exponent in np.arange(5, 9.1, 0.5)]
    slopes = np.diff(np.log(tails)) / (0.5 * math.log(10))
    np.testing.assert_allclose(slopes, [1.403, 1.006, 0.915, 0.885, 0.875, 0.871, 0.869, 0.868], atol=6e-4)


def test_a_constant_batch_can_be_best():
    assert ScalingLaw(s=1.2, beta=2, sigma=0).best_tail(1e5, SMALL, LARGE) == 0
    assert ScalingLaw(s=1.2, beta=2, c1=0).best_tail(1e5, SMALL, LARGE) == 1e5


laws = st.fixed_dictionaries({
    "s": st.floats(0.1, 2), "beta": st.floats(1.1, 4), "eta": st.floats(0.01, 0.5), "sigma": st.floats(0, 3)})


@given(laws, st.floats(0, 1), st.integers(1, 64), st.integers(1, 64))
@settings(max_examples=20, deadline=None)
def test_the_two_stage_law_agrees_with_quadrature(law, fraction, small, more):
    found = ScalingLaw(**law).two_stage(20_000 * (1 - fraction), 20_000, small, small + more)
    assert found == pytest.approx(oracle.two_stage(fraction * 20_000, 20_000, small, small + more, **law), rel=1e-6)


@given(laws, st.lists(st.tuples(st.floats(0.1, 300), st.integers(1, 256)), min_size=1, max_size=4))
@settings(max_examples=20, deadline=None)
def test_the_excess_risk_agrees_with_quadrature(law, stages):
    assert ScalingLaw(**law).excess_risk(stages) == pytest.approx(oracle.excess_risk(stages, **law), rel=1e-6)


def test_the_two_stage_law_is_the_excess_risk_where_label_noise_drowns_the_signals():
    law = ScalingLaw(s=0.3, beta=2, sigma=1e4)
    last, first = law.eta * 3e4 / LARGE, law.eta * 7e4 / SMALL
    whole = law.excess_risk([(first, SMALL), (last, LARGE)])
    assert law.two_stage(3e4, 1e5, SMALL, LARGE) == pytest.approx(whole, rel=1e-7)
