"""GDPO: baselines.md S4 entry 7, against the oracle and its own properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.advantages.gdpo import GdpoParams, gdpo
from hone.algorithms.advantages.statistics import z_score
from hone.algorithms.inputs import AdvantageInputs, Floats
from hone.algorithms.method import Method
from tests.oracles import gdpo as oracle

GDPO: Method[AdvantageInputs, Floats] = Method(gdpo, GdpoParams)


def inputs(components, group, tokens=None):
    group = np.array(group, np.int64)
    return AdvantageInputs(
        np.zeros(len(group)), group, np.ones_like(group) if tokens is None else np.array(tokens, np.int64),
        np.full(len(group), np.nan), components={k: np.array(v, np.float64) for k, v in components.items()})


def advantage(given, **params):
    return GDPO(given, params, {})[0]


PAIR = {"correct": [1, 0, 0, 1], "format": [0, 1, 0, 1]}


def test_one_reward_of_one_group_is_the_z_score_of_the_z_score():
    reward = np.array([1, 0, 0, 0.5])
    expected = (reward - reward.mean()) / reward.std(ddof=1)
    np.testing.assert_allclose(advantage(inputs({"r": reward}, [0] * 4)), expected, atol=1e-5)


def test_rewards_of_one_shape_on_other_scales_count_alike():
    small, large = (advantage(inputs({**PAIR, "format": scale * np.array(PAIR["format"])}, [0] * 4), eps=1e-12)
                    for scale in (1, 100))
    np.testing.assert_allclose(small, large, atol=1e-9)


def test_distinct_rewards_with_one_sum_stay_distinct():
    """What GDPO is for: (1, 0) and (0, 1) have one sum, so GRPO over the sum could not tell them apart."""
    given = inputs({"often": [1, 0, 1, 1], "rare": [0, 1, 0, 0]}, [0] * 4)
    assert (advantage(given) == 0).all()
    weighted = advantage(given, weights={"rare": 2.0})
    assert weighted[1] > 0 > weighted[0]


def test_a_weight_of_zero_removes_a_reward_and_one_is_the_default():
    given = inputs(PAIR, [0] * 4)
    alone = advantage(inputs({"correct": PAIR["correct"]}, [0] * 4))
    np.testing.assert_allclose(advantage(given, weights={"format": 0.0}), alone, atol=1e-12)
    both = advantage(given, weights={"format": 1.0, "correct": 1.0})
    np.testing.assert_array_equal(advantage(given), both)


def test_a_weight_of_no_reward_is_counted():
    assert GDPO(inputs(PAIR, [0] * 4), {"weights": {"correkt": 2}}, {})[2]["weights_without_reward"] == 1


def test_an_inactive_row_gets_nothing_and_gives_nothing():
    values = advantage(inputs({"r": [1, 0, np.nan]}, [0] * 3))
    assert values[2] == 0
    assert values[0] == -values[1] > 0


def test_a_reward_that_is_nowhere_active_changes_nothing():
    given = inputs({**PAIR, "never": [np.nan] * 4}, [0] * 4)
    np.testing.assert_array_equal(advantage(given), advantage(inputs(PAIR, [0] * 4)))


def test_no_variance_is_exactly_zero():
    flat, varied = [0.3, 0.3 + 5e-9, 0.3], [1, 0, 0.3, 0.7]
    assert (advantage(inputs({"r": flat, "s": [2, 2, 2]}, [0] * 3)) == 0).all()
    values = advantage(inputs({"r": flat + varied, "s": [2, 2, 2, 5, 1, 0.1, 0.2]}, [0, 0, 0, 1, 1, 1, 1]))
    assert (values[:3] == 0).all()
    assert (values[3:] != 0).all()


def test_a_group_of_one_is_zero_and_counted():
    values, _, metrics = GDPO(inputs({"r": [1, 1, 0]}, [0, 1, 1]), {}, {})
    assert values[0] == 0
    assert metrics["single_sample_groups"] == 1


def test_the_batch_votes_by_row_and_not_by_token():
    short, long = (advantage(inputs(PAIR, [0] * 4, tokens)) for tokens in ([1, 1, 1, 1], [5, 1, 1, 2]))
    np.testing.assert_array_equal(long, np.repeat(short, [5, 1, 1, 2]))


def test_without_components_it_says_what_it_needs():
    assert GdpoParams().needs() == {"components"}
    with pytest.raises(ValueError, match="components: found none"):
        advantage(inputs({}, [0]))


def test_a_weight_must_be_finite():
    with pytest.raises(ValidationError):
        GdpoParams(weights={"r": float("nan")})


def test_z_score_of_nothing_is_nothing():
    assert z_score(np.array([]), 1, 1e-6).tolist() == []


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, kinds = draw(st.integers(1, 14)), draw(st.integers(1, 4))
    reward = np.round(random.normal(size=(kinds, rows)), draw(st.sampled_from([0, 1, 6])))
    return reward, random.random((kinds, rows)) < 0.8, random.integers(0, 4, rows), random.normal(size=kinds), random


@given(batches(), st.sampled_from([0, 1]))
@settings(max_examples=80, deadline=None)
def test_it_agrees_with_the_oracle(batch, ddof):
    reward, active, group, weight, random = batch
    names = [f"r{k}" for k in range(len(reward))]
    tokens = random.integers(1, 4, len(group))
    given = inputs(dict(zip(names, np.where(active, reward, np.nan), strict=True)), group, tokens)
    found = advantage(given, weights=dict(zip(names, weight.tolist(), strict=True)), std_ddof=ddof)
    expected = oracle.gdpo(reward, active, group, weight, ddof)
    np.testing.assert_allclose(found, np.repeat(expected, tokens), rtol=1e-6, atol=1e-6)
