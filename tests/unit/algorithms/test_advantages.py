"""Estimators against worked numbers, the oracle, and the invariances of the specification."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs
from hone.algorithms.method import State
from tests.oracles import advantages as oracle

GROUP_RELATIVE = ["grpo", "dr_grpo", "rloo"]


def inputs(reward, group=None, tokens=None, baseline=None, kl=None):
    reward = np.array(reward, np.float64)
    return AdvantageInputs(
        reward, np.zeros(len(reward), np.int64) if group is None else np.array(group, np.int64),
        np.ones(len(reward), np.int64) if tokens is None else np.array(tokens, np.int64),
        np.full(len(reward), np.nan) if baseline is None else np.array(baseline, np.float64), kl)


def advantage(name, given, state=None, **params):
    values, _, _ = ADVANTAGES[name](given, params, state or {})
    return values


EIGHT = [1, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(("name", "params", "rewards", "expected"), [
    ("dr_grpo", {}, EIGHT, {1: 0.75, 0: -0.25}),
    ("rloo", {}, EIGHT, {1: 0.857143, 0: -0.285714}),
    ("grpo", {"std_ddof": 0}, EIGHT, {1: 1.732047, 0: -0.577349}),
    ("grpo", {"std_ddof": 1}, EIGHT, {1: 1.620182, 0: -0.540061}),
    ("grpo", {}, EIGHT, {1: 1.620182, 0: -0.540061}),
    ("grpo", {"std_ddof": 0}, [1, 0, 0, 0.5], {1: 1.507553, 0: -0.904532, 0.5: 0.301511}),
    ("grpo", {"std_ddof": 1}, [1, 0, 0, 0.5], {1: 1.305580, 0: -0.783348, 0.5: 0.261116}),
    ("rloo", {}, [1, 0, 0, 0.5], {1: 0.833333, 0: -0.5, 0.5: 0.166667}),
])
def test_worked_numbers(name, params, rewards, expected):
    np.testing.assert_allclose(
        advantage(name, inputs(rewards), **params), [expected[reward] for reward in rewards], atol=1.5e-6)


def test_rloo_is_dr_grpo_times_size_over_the_others_exactly():
    given = inputs(EIGHT)
    assert (advantage("rloo", given) == 8 / 7 * advantage("dr_grpo", given)).all()


def test_reinforce_pp_worked_numbers():
    kl = np.array([0.1, -0.05, 0.2, 0, 0.1])
    given = inputs([1, 0], tokens=[2, 3], kl=kl)
    np.testing.assert_allclose(
        advantage("reinforce_pp", given, beta=0.1), [1.214551, 1.234626, -0.843159, -0.803009, -0.803009], atol=1.5e-6)


@pytest.mark.parametrize("name", [*GROUP_RELATIVE, "reinforce_pp", "reinforce_pp_baseline"])
@pytest.mark.parametrize("rewards", [[0, 0, 0, 0], [1, 1, 1], [0.3, 0.3 + 1e-8 / 2, 0.3]])
def test_no_variance_is_exactly_zero(name, rewards):
    assert (advantage(name, inputs(rewards, tokens=[2] * len(rewards))) == 0).all()


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "reinforce_pp_baseline"])
def test_a_group_without_variance_is_exactly_zero_beside_one_that_varies(name):
    values = advantage(name, inputs([1, 0, 1, 1], group=[0, 0, 1, 1], tokens=[1, 2, 2, 1]))
    assert (values[3:] == 0).all()
    assert (values[:3] != 0).all()


@pytest.mark.parametrize("name", ["grpo", "dr_grpo"])
def test_a_single_sample_has_no_advantage_and_is_counted(name):
    values, _, metrics = ADVANTAGES[name](inputs([1.0, 1.0, 0.0], group=[0, 1, 1]), {}, {})
    assert values[0] == 0
    assert metrics["single_sample_groups"] == 1


def test_a_single_sample_can_be_its_reward_for_parity():
    assert advantage("grpo", inputs([0.7]), single_sample="reward") == [0.7]


@pytest.mark.parametrize(("baseline", "expected"), [([0.25], [0.5]), ([np.nan], [0.0])])
def test_rloo_compares_a_single_sample_with_the_prompts_running_mean(baseline, expected):
    assert advantage("rloo", inputs([0.75], baseline=baseline)).tolist() == expected


def test_reinforce_compares_with_earlier_batches_only():
    estimated: list[float] = []
    state: State = {}
    for rewards in ([1, 0], [1, 1], [0]):
        values, state, _ = ADVANTAGES["reinforce"](inputs(rewards), {"baseline": "running_mean"}, state)
        estimated += np.asarray(values).tolist()
    assert estimated == [1, 0, 0.5, 0.5, -0.75]


def test_every_token_counts_one_without_an_estimator():
    assert advantage("none", inputs([5, 0], tokens=[2, 1])).tolist() == [1, 1, 1]


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    groups, size = draw(st.integers(1, 5)), draw(st.integers(2, 6))
    rows, length = groups * size, draw(st.integers(1, 7))
    reward = np.round(random.normal(size=rows), draw(st.sampled_from([0, 1, 6])))
    mask = random.random((rows, length)) < 0.7
    mask[np.arange(rows), random.integers(0, length, rows)] = True
    return reward, np.repeat(np.arange(groups), size), mask, random.normal(size=mask.shape)


@given(batches(), st.sampled_from([0, 1]), st.sampled_from([0.0, 0.3]), st.sampled_from([1.0, 0.9]))
@settings(max_examples=60, deadline=None)
def test_estimators_agree_with_the_oracle(batch, ddof, beta, gamma):
    reward, group, mask, kl = batch
    given = inputs(reward, group, mask.sum(axis=1), kl=kl[mask])
    expected = {
        "grpo": (oracle.grpo(reward, group, mask, ddof), {"std_ddof": ddof}),
        "dr_grpo": (oracle.dr_grpo(reward, group, mask), {}),
        "rloo": (oracle.rloo(reward, group, mask), {}),
        "reinforce_pp": (oracle.reinforce_pp(reward, mask, kl, beta, gamma), {"beta": beta, "gamma": gamma}),
        "reinforce_pp_baseline": (oracle.reinforce_pp_baseline(reward, group, mask), {}),
    }
    for name, (values, params) in expected.items():
        np.testing.assert_allclose(advantage(name, given, **params), values[mask], rtol=1e-6, atol=1e-9, err_msg=name)


@given(batches(), st.floats(0.5, 4), st.floats(-3, 3))
@settings(max_examples=30, deadline=None)
def test_invariances(batch, scale, shift):
    reward, group, mask, _ = batch
    tokens = mask.sum(axis=1)
    for name in ("dr_grpo", "rloo"):
        plain, moved = (advantage(name, inputs(r, group, tokens)) for r in (reward, scale * reward + shift))
        np.testing.assert_allclose(moved, scale * plain, atol=1e-9)
    plain, moved = (advantage("grpo", inputs(r, group, tokens), eps=1e-12) for r in (reward, scale * reward + shift))
    np.testing.assert_allclose(moved, plain, atol=1e-4)


def test_the_order_of_rows_only_orders_the_result():
    reward, group = np.array([1.0, 0, 0.5, 0.2, 0.9, 0]), np.array([3, 1, 3, 1, 1, 3])
    order = np.array([4, 0, 5, 2, 1, 3])
    for name in GROUP_RELATIVE:
        plain = advantage(name, inputs(reward, group))
        np.testing.assert_allclose(advantage(name, inputs(reward[order], group[order])), plain[order], atol=1e-12)
