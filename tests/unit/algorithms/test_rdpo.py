"""RDPO (rdpo.md) against its worked numbers, the oracle and the invariances of the specification."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.advantages.rdpo import RdpoParams, quantile_scores, rdpo, whitening
from hone.algorithms.inputs import AdvantageInputs, Floats
from hone.algorithms.method import Method, State
from tests.oracles import rdpo as oracle

RDPO: Method[AdvantageInputs, Floats] = Method(rdpo, RdpoParams)
UNGUARDED = {"min_rows": 0, "min_groups": 1, "few_rows": 0}


def inputs(components, group=None, tokens=None):
    table = {name: np.array(values, np.float64) for name, values in components.items()}
    rows = len(next(iter(table.values()), []))
    return AdvantageInputs(
        np.zeros(rows), np.zeros(rows, np.int64) if group is None else np.array(group, np.int64),
        np.ones(rows, np.int64) if tokens is None else np.array(tokens, np.int64), np.full(rows, np.nan),
        components=table)


def advantage(components, group=None, state=None, **params):
    return RDPO(inputs(components, group), params, state or {})[0]


def scores(rewards, reference=0.0, **params):
    return quantile_scores(np.array(rewards, np.float64), reference, RdpoParams(**params))


def z_score(rewards):
    values = np.array(rewards, np.float64)
    return (values - values.mean()) / values.std()


@pytest.mark.parametrize("omega", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize(("rewards", "expected"), [
    ([1] + [0] * 7, [0.875] + [-0.125] * 7), ([1, 1, 0, 0], [0.5, 0.5, -0.5, -0.5]),
    ([1] + [0] * 15, [0.9375] + [-0.0625] * 15),
])
def test_1_binary_rewards_are_centred_whatever_omega(rewards, expected, omega):
    np.testing.assert_allclose(scores(rewards, omega=omega), expected, atol=1e-12)


def test_2_fractions():
    rewards = [0, 0.25, 0.25, 1]
    np.testing.assert_allclose(scores(rewards, omega=0), [-0.75, 0, 0, 0.75], atol=1e-12)
    np.testing.assert_allclose(scores(rewards, omega=1), [-0.375, -0.125, -0.125, 0.625], atol=1e-12)
    np.testing.assert_allclose(scores(rewards), [-0.5625, -0.0625, -0.0625, 0.6875], atol=1e-12)


@pytest.mark.parametrize(("rewards", "reference", "expected", "z"), [
    ([2.10, 2.11, 2.12, 9.0], 0.0, [-0.500543, -0.249819, 0.000906, 0.749457],
     [-0.580700, -0.577349, -0.573997, 1.732046]),
    ([0.500, 0.501, 0.502, 0.503], 0.5, [-0.00375, -0.00125, 0.00125, 0.00375],
     [-1.341641, -0.447214, 0.447214, 1.341641]),
    ([1] + [0] * 7, 0.0, [0.875] + [-0.125] * 7, [2.645751] + [-0.377964] * 7),
    ([1] + [0] * 15, 0.0, [0.9375] + [-0.0625] * 15, [3.872983] + [-0.258199] * 15),
])
def test_3_and_4_outliers_and_near_ties_beside_the_z_score(rewards, reference, expected, z):
    np.testing.assert_allclose(scores(rewards, reference), expected, atol=1e-6)
    np.testing.assert_allclose(z_score(rewards), z, atol=1e-6)


CORRELATED = np.array([[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1.0]])


def test_5_whitening():
    matrix = whitening(CORRELATED, 0.0, 0.0)
    expected = np.array([[1.490712, -0.745356, 0], [-0.745356, 1.490712, 0], [0, 0, 1]])
    np.testing.assert_allclose(matrix, expected, atol=1e-6)
    same, opposite = matrix @ [1, 1, -1], matrix @ [1, -1, 0]
    np.testing.assert_allclose(same, [0.745356, 0.745356, -1], atol=1e-6)
    assert same.sum() == pytest.approx(0.490712, abs=1e-6)
    np.testing.assert_allclose(opposite, [2.236068, -2.236068, 0], atol=1e-6)
    mahalanobis = np.array([1, -1, 0]) @ np.linalg.inv(CORRELATED) @ [1, -1, 0]
    assert (opposite ** 2).sum() == pytest.approx(10) == mahalanobis


def test_5_whitening_regularised():
    matrix = whitening(CORRELATED, 0.1, 1e-3)
    np.testing.assert_allclose(np.diag(matrix), [1.324364, 1.324364, 0.9995], atol=1e-6)
    assert matrix[0, 1] == pytest.approx(-0.562093, abs=1e-6)


PAIR = {"correct": [1, 1, 0, 0], "rubric": [0.9, 0.8, 0.3, 0.2]}


def test_6_the_whole_pipeline():
    z = np.column_stack([scores(values) for values in PAIR.values()])
    np.testing.assert_allclose(z, [[0.5, 0.625], [0.5, 0.303571], [-0.5, -0.303571], [-0.5, -0.625]], atol=1e-6)
    covariance = z.T @ z / 4
    np.testing.assert_allclose(covariance, [[0.25, 0.232143], [0.232143, 0.241390]], atol=1e-6)
    matrix = whitening(covariance, 0.1, 1e-3)
    np.testing.assert_allclose(matrix, [[3.303524, -1.858789], [-1.858789, 3.380122]], atol=1e-6)
    params = {**UNGUARDED, "shrinkage": 0.1, "rescale": "none"}
    values, state, metrics = RDPO(inputs(PAIR), params, {})
    np.testing.assert_allclose(values, [1.183131, 0.837356, -0.837356, -1.183131], atol=1e-6)
    assert metrics["correlation_before_correct_rubric"] == pytest.approx(0.944986, abs=1e-6)
    np.testing.assert_allclose(next(iter(state["c_bar"].values())), covariance, atol=1e-12)
    assert state["d_ref"] == pytest.approx({"correct": 1.0, "rubric": 0.7})


@pytest.mark.parametrize("params", [{}, {"min_groups": 1}, {"min_rows": 0}])
def test_a_small_bucket_is_scaled_by_the_rms_only(params):
    values = advantage(PAIR, rescale="none", **params)
    z = np.column_stack([scores(rewards) for rewards in PAIR.values()])
    np.testing.assert_allclose(values, (z / np.sqrt((z ** 2).mean(axis=0))).sum(axis=1) / np.sqrt(2), atol=1e-12)


def test_few_rows_shrink_more():
    def weights(groups):
        table = {name: values * groups for name, values in PAIR.items()}
        group = np.repeat(np.arange(groups), 4)
        return RDPO(inputs(table, group), {}, {})[2]["effective_weight_rubric"]

    z = np.column_stack([scores(rewards) for rewards in PAIR.values()])
    for groups, shrinkage in ((4, 0.3), (5, 0.05)):
        expected = whitening(z.T @ z / 4, shrinkage, 1e-3)[1].sum() / np.sqrt(2)
        assert weights(groups) == pytest.approx(expected, rel=1e-9)


def test_a_running_reference_decays_slowly_and_never_falls_below_the_median():
    group = [0, 0, 1, 1, 2, 2]
    _, state, _ = RDPO(inputs({"a": [0, 4.0, 0, 2.0, 1, 1]}, group), {}, {})
    assert state["d_ref"] == {"a": 3.0}
    _, state, _ = RDPO(inputs({"a": [0, 1.0, 0, 1.0, 1, 1]}, group), {}, state)
    assert state["d_ref"] == {"a": pytest.approx(2.97)}
    _, state, _ = RDPO(inputs({"a": [1.0] * 6}, group), {}, state)
    assert state["d_ref"] == {"a": pytest.approx(2.9403)}
    _, state, metrics = RDPO(inputs({"a": [0, 5.0, 1, 1, 1, 1]}, group), {"reference": {"a": 10.0}}, state)
    assert state["d_ref"] == {"a": 5.0}
    assert metrics["d_ref_a"] == 10.0
    assert metrics["z_rms_a"] == pytest.approx(np.sqrt(2 * 0.25 ** 2 / 6))
    assert metrics["degenerate_a"] == pytest.approx(2 / 3)


def test_the_covariance_is_averaged_over_steps_and_survives_json():
    random = np.random.default_rng(3)
    group = np.repeat(np.arange(6), 8)
    state: State = {}
    batches = [{"a": random.normal(size=48), "b": random.normal(size=48)} for _ in range(3)]
    before: dict[int, float] = {}
    covariances: dict[oracle.Key, oracle.Array] = {}
    for batch in batches:
        values, state, _ = RDPO(inputs(batch, group), {"rho": 0.9}, json.loads(json.dumps(state)))
        rows = np.column_stack(list(batch.values())).tolist()
        expected, before, covariances = oracle.rdpo(rows, group.tolist(), before, covariances, rho=0.9)
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)
    ((_, carried),) = state["c_bar"].items()
    np.testing.assert_allclose(carried, covariances[(0, 1), (0, 1)], atol=1e-12)


def test_all_dimensions_degenerate_or_a_single_row_is_exactly_zero():
    flat = {"a": [1, 1, 1, 0.3], "b": [0.2, 0.2 + 5e-9, 0.2, 7]}
    values, _, metrics = RDPO(inputs(flat, [0, 0, 0, 1]), {}, {})
    assert (values == 0).all()
    assert metrics["degenerate_a"] == metrics["degenerate_b"] == 1
    assert metrics["smallest_eigenvalue"] == 0


def test_zero_weights_are_exactly_zero():
    assert (advantage(PAIR, weights={"correct": 0, "rubric": 0}) == 0).all()
    assert np.abs(advantage(PAIR, weights={"correct": 0, "rubric": 1e-200})).min() > 0.1


def test_opposite_dimensions_cancel_and_their_rounding_is_not_rescaled():
    values = [0.1, 0.5, 0.7, 0.2]
    opposite = {"a": values * 4, "b": [-value for value in values] * 4}
    assert np.abs(advantage(opposite, np.repeat(np.arange(4), 4))).max() < 1e-9


def test_a_missing_reward_scores_zero_and_leaves_the_group_smaller():
    given = {"a": [1, 0, np.nan, 0.5], "b": [0, 1, 1, 0]}
    values, _, metrics = RDPO(inputs(given), {"rescale": "none"}, {})
    a, b = scores([1, 0, 0.5]), scores([0, 1, 1, 0])
    z = np.column_stack([[a[0], a[1], 0, a[2]], b])
    np.testing.assert_allclose(values, (z / np.sqrt((z ** 2).mean(axis=0))).sum(axis=1) / np.sqrt(2), atol=1e-12)
    assert metrics["missing_rewards"] == 1
    assert metrics["rejected_rows"] == 0
    assert values.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("broken", [np.inf, -np.inf, 1.7e308])
def test_a_row_with_an_infinite_reward_is_rejected_alone(broken):
    group = [0, 0, 0, 1, 1, 1]
    given = {"a": [1, broken, 0, 1, 0, 0], "b": [0.1, 0.9, 0.4, 0, 0.2, 0.3]}
    values, _, metrics = RDPO(inputs(given, group), {}, {})
    without = advantage({name: np.delete(column, 1) for name, column in given.items()}, np.delete(group, 1))
    assert values[1] == 0
    np.testing.assert_allclose(np.delete(values, 1), without, atol=1e-12)
    assert metrics["rejected_rows"] == 1
    assert (advantage({"a": [broken] * 3}) == 0).all()


def test_task_types_with_their_own_dimensions_do_not_meet():
    random = np.random.default_rng(8)
    group, none = np.repeat(np.arange(8), 6), np.full(24, np.nan)
    first, second = random.normal(size=(24, 2)), random.normal(size=(24, 2))
    both = {"a": np.r_[first[:, 0], second[:, 0]], "b": np.r_[first[:, 1], none], "c": np.r_[none, second[:, 1]]}
    values, state, metrics = RDPO(inputs(both, group), {"rescale": "none", "reference": {"a": 1.0}}, {})
    alone = [advantage({"a": part[:, 0], name: part[:, 1]}, group[:24], rescale="none", reference={"a": 1.0})
             for part, name in ((first, "b"), (second, "c"))]
    np.testing.assert_allclose(values, np.concatenate(alone), atol=1e-12)
    assert len(state["c_bar"]) == 2
    assert metrics["correlation_before_b_c"] == 0


def test_a_negative_effective_weight_is_counted():
    random = np.random.default_rng(1)
    shared = random.normal(size=120)
    given = {"a": shared, "b": shared + 0.1 * random.normal(size=120)}
    _, _, metrics = RDPO(inputs(given, np.repeat(np.arange(15), 8)), {"weights": {"a": 1.0, "b": 0.1}}, {})
    assert metrics["negative_weights"] == 1
    assert metrics["effective_weight_b"] < 0 < metrics["effective_weight_a"]
    before = metrics["correlation_before_a_b"]
    along, across = (1 + before) / (1.001 + 0.95 * before), (1 - before) / (1.001 - 0.95 * before)
    assert before > 0.95
    assert metrics["correlation_after_a_b"] == pytest.approx((along - across) / (along + across), abs=1e-3)
    assert 0 < metrics["smallest_eigenvalue"] < 0.1
    assert metrics["correlation_advantage_b"] < metrics["correlation_advantage_a"] < 1


def test_every_token_of_a_trajectory_has_its_advantage():
    values, _, _ = RDPO(inputs(PAIR, tokens=[1, 3, 2, 1]), {}, {})
    np.testing.assert_allclose(values, np.repeat(advantage(PAIR), [1, 3, 2, 1]), atol=0)


def test_it_needs_components():
    assert RdpoParams().needs() == {"components"}
    with pytest.raises(ValueError, match="components"):
        RDPO(inputs({}), {}, {})


@pytest.mark.parametrize("params", [{"weights": {"a": -1}}, {"eps": 0}, {"rho": 1}, {"reference": {"a": 0}}])
def test_bounds(params):
    with pytest.raises(ValidationError):
        RDPO(inputs(PAIR), params, {})


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups, dims = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    group = np.repeat(np.arange(groups), random.integers(1, 9, groups))
    rewards = np.round(random.normal(size=(len(group), dims)), draw(st.sampled_from([0, 1, 6])))
    if draw(st.booleans()) and dims > 1:
        rewards[:, 1] = rewards[:, 0]
    inactive = random.random((groups, dims)) < draw(st.sampled_from([0.0, 0.3]))
    missing = random.random(rewards.shape) < draw(st.sampled_from([0.0, 0.1]))
    rewards[inactive[group] | missing] = np.nan
    order = random.permutation(len(group))
    return rewards[order], group[order]


def named(rewards):
    return {f"r{k}": rewards[:, k] for k in range(rewards.shape[1])}


@given(batches(), st.sampled_from([0.0, 0.5, 1.0]), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_it_agrees_with_the_oracle(batch, omega, gauss, rescale, second_step):
    rewards, group = batch
    weights, fixed = {0: 2.0, 1: 0.5}, {0: 1.0}
    params = {"omega": omega, "rank": "gauss" if gauss else "uniform", "weights": {"r0": 2.0, "r1": 0.5},
              "reference": {"r0": 1.0}, "rescale": "batch_rms" if rescale else "none", "rho": 0.5}
    before = dict.fromkeys(range(rewards.shape[1]), 2.0) if second_step else {}
    values, state, metrics = RDPO(
        inputs(named(rewards), group), params, {"d_ref": {f"r{k}": value for k, value in before.items()}})
    rows = [[None if np.isnan(value) else float(value) for value in row] for row in rewards]
    expected, d_ref, covariances = oracle.rdpo(
        rows, group.tolist(), before, omega=omega, gauss=gauss, rescale=rescale, weights=weights, fixed=fixed, rho=0.5)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-8)
    assert state["d_ref"] == pytest.approx({f"r{k}": value for k, value in d_ref.items()})
    assert len(state["c_bar"]) == len(covariances)
    assert all(np.isfinite(value) for value in metrics.values())


@given(batches(), st.floats(0.5, 4), st.floats(-3, 3))
@settings(max_examples=40, deadline=None)
def test_invariances(batch, scale, shift):
    rewards, group = batch
    plain = advantage(named(rewards), group)
    np.testing.assert_allclose(advantage(named(np.round(scale, 2) * rewards), group), plain, atol=1e-7)
    moved = quantile_scores(scale * np.arange(5.0) ** 2 + shift, scale * 20, RdpoParams())
    np.testing.assert_allclose(moved, quantile_scores(np.arange(5.0) ** 2, 20, RdpoParams()), atol=1e-9)
    turned = {f"r{9 - k}": rewards[:, k] for k in range(rewards.shape[1])}
    np.testing.assert_allclose(advantage(turned, group), plain, atol=1e-7)
    for rows in np.unique(group):
        assert plain[group == rows].sum() == pytest.approx(0, abs=1e-7)


def test_orthogonal_equal_dimensions_are_only_rescaled():
    given = {"a": [1, 1, 0, 0] * 10, "b": [1, 0, 1, 0] * 10}
    values = advantage(given, np.repeat(np.arange(10), 4), rescale="none")
    centred = np.column_stack(list(given.values())).sum(axis=1) - 1
    np.testing.assert_allclose(values, values[0] * centred, atol=1e-12)
    assert values[0] == pytest.approx(np.sqrt(2 / (1 + 1e-3)))


@pytest.mark.parametrize("copies", [2, 5])
def test_duplicates_weigh_the_root_of_their_number(copies):
    one, other = np.array([1, 1, 0, 0] * 10), np.array([1, 0, 1, 0] * 10)
    given = {"z": other, **{f"a{place}": one for place in range(copies)}}
    values = advantage(given, np.repeat(np.arange(10), 4), **UNGUARDED, shrinkage=0, eps=1e-9, rescale="none")
    of_one = values[(one == 1) & (other == 0)][0]
    both = values[(one == 1) & (other == 1)][0]
    assert (both + of_one) / (both - of_one) == pytest.approx(np.sqrt(copies), rel=1e-6)


def test_one_binary_dimension_is_dr_grpo_up_to_a_constant():
    reward, group = np.array([1, 0, 0, 0, 1, 1, 0, 1.0]), np.repeat([0, 1], 4)
    centred = reward - np.repeat([0.25, 0.75], 4)
    np.testing.assert_allclose(
        advantage({"a": reward}, group), centred / np.sqrt((centred ** 2).mean()), atol=1e-12)


def test_the_scale_of_one_reward_does_not_matter():
    random = np.random.default_rng(4)
    group, given = np.repeat(np.arange(8), 16), {"a": random.normal(size=128), "b": random.integers(0, 2, 128)}
    np.testing.assert_allclose(
        advantage({**given, "a": 100 * given["a"]}, group), advantage(given, group), rtol=1e-9)


def mixed(seed):
    """Three groups of each of three sources: binary, fractional and continuous rewards, some of one name."""
    random = np.random.default_rng(seed)
    sizes, nothing = 24, np.full(24, np.nan)
    right = [random.integers(0, 2, sizes), random.integers(0, 5, sizes) / 4, 100 * random.random(sizes)]
    short, speed = random.random(sizes), 3 * random.standard_normal(sizes)
    components = {"right": np.concatenate(right), "short": np.concatenate([short, short, nothing]),
                  "speed": np.concatenate([nothing, nothing, speed])}
    return components, np.repeat(np.arange(9), 8), np.repeat(["binary", "fractions", "time"], sizes)


@pytest.mark.parametrize("rescale", ["none", "batch_rms"])
def test_sources_of_a_mixture_are_active_sets_of_their_own(rescale):
    components, group, source = mixed(0)
    batch = replace(inputs(components, group), source=source.tolist())
    whole, state, metrics = RDPO(batch, {**UNGUARDED, "rescale": rescale}, {})
    for name in np.unique(source):
        rows = source == name
        own = {part: values[rows] for part, values in components.items() if not np.isnan(values[rows]).all()}
        alone = advantage(own, group[rows], rescale=rescale, **UNGUARDED)
        factor = whole[rows] / np.where(alone == 0, 1, alone)
        np.testing.assert_allclose(factor[alone != 0], factor[alone != 0][0], rtol=1e-9)
        if rescale == "none":
            np.testing.assert_allclose(whole[rows], alone, atol=1e-12)
    assert set(state["d_ref"]) == {
        "binary.right", "binary.short", "fractions.right", "fractions.short", "time.right", "time.speed"}
    assert state["d_ref"]["binary.right"] == 1
    assert len(state["c_bar"]) == 3
    assert "correlation_before_time.right_time.speed" in metrics
    assert not any("binary" in name and "time" in name for name in metrics)


def test_a_weight_or_a_fixed_range_counts_for_its_component_in_every_source():
    components, group, source = mixed(1)
    batch = replace(inputs(components, group), source=source.tolist())
    weighted = RDPO(batch, {**UNGUARDED, "weights": {"right": 0.0, "short": 1.0, "speed": 1.0}}, {})[0]
    assert not np.allclose(weighted, RDPO(batch, UNGUARDED, {})[0])
    _, _, metrics = RDPO(batch, {**UNGUARDED, "reference": {"right": 7.0}}, {})
    assert {metrics[f"d_ref_{name}.right"] for name in ("binary", "fractions", "time")} == {7.0}
