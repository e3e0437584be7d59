"""DynaMO's modulation against its worked numbers, its exact properties and the oracle."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.inputs import ModulationInputs
from hone.algorithms.method import Method
from hone.algorithms.modulations.dynamo import DynamoParams, dynamo
from tests.oracles import dynamo as oracle

METHOD: Method[ModulationInputs, np.ndarray] = Method(dynamo, DynamoParams)


def inputs(advantage, logp, entropy, tokens=None, old=None, expected=None, **band):
    advantage, logp, entropy = (np.asarray(x, np.float64) for x in (advantage, logp, entropy))
    tokens = np.array([len(advantage)] if tokens is None else tokens, np.int64)
    return ModulationInputs(advantage, tokens, logp, logp if old is None else np.asarray(old, np.float64), entropy,
                            None if expected is None else np.asarray(expected, np.float64), **band)


def modulated(given, **params):
    return METHOD(given, params, {})[0]


def test_4_compensation():
    given = inputs([1.0, 1, 1], np.zeros(3), [0.05, 1.0, 2.0], expected=np.zeros(3))
    np.testing.assert_allclose(modulated(given, floor=1), [1.2, 1.102564, 1.0], atol=5e-7)
    given = inputs([-1.0, -1, 0], np.zeros(3), [0.05, 1.0, 2.0], expected=np.zeros(3))
    assert modulated(given, floor=1).tolist() == [-1, -1, 0]


@pytest.mark.parametrize(("params", "expected"), [
    ({}, [1, 1, 0.995605, 0.848984, 0.8, 0.751016]),
    ({"tau": 0.9}, [1, 1, 0.8, 0.607194, 0.604395, 0.602677]),
])
def test_5_stabilisation(params, expected):
    """With p = 1 and H = 0, dH is the given expectation: x without detour."""
    given = inputs(np.ones(6), np.zeros(6), np.zeros(6), expected=3 * np.array([0, 0.5, 0.9, 0.98, 0.99, 1]))
    np.testing.assert_allclose(modulated(given, **params), expected, atol=5e-7)


P, H = np.array([0.9, 0.3, 0.6]), [0.325083, 1.2, 0.9]


def row(advantage=(1.0, 1.0, 1.0)):
    return inputs(advantage, np.log(P), H, old=np.log(P / [1, 1.1, 1]))


def test_6_a_row_of_three_tokens():
    values, _, metrics = METHOD(row(), {"mode": "row_mean"}, {})
    np.testing.assert_allclose(values, [1.2, 0.751016, 1.068578], atol=6e-7)
    assert metrics["swing_max"] == pytest.approx(0.159001, abs=6e-7)
    assert metrics["swing_mean"] == pytest.approx((0.054396 + 0.159001 + 0.090150) / 3, abs=6e-7)
    assert metrics["compensation_mean"] == pytest.approx((1.2 + 1 + 1.068578) / 3, abs=6e-7)
    assert metrics["stabilisation_mean"] == pytest.approx((2 + 0.751016) / 3, abs=6e-7)


def test_6_swings_as_shares_of_the_largest():
    found = modulated(row(), mode="row_mean", alpha_c=0, floor=0, kappa=1, tau=0.5)
    np.testing.assert_allclose(np.log(1 / found - 1) + 0.5, [0.342111, 1, 0.566980], atol=2e-6)


@pytest.mark.parametrize(("action", "change"), [(0, -0.140793), (1, 0.332332), (2, 0.320885)])
def test_7_the_exact_swing_is_the_entropys_first_order_change(action, change):
    policy, eta = np.array([0.7, 0.2, 0.1]), 1e-6
    entropy = -policy @ np.log(policy)
    expected = policy**2 @ (np.log(policy) + entropy)
    given = inputs([1.0], [np.log(policy[action])], [entropy], expected=[expected])
    assert METHOD(given, {}, {})[2]["swing_max"] == pytest.approx(abs(change), abs=6e-7)
    higher, lower = (_entropy(np.log(policy) + step * (np.eye(3)[action] - policy)) for step in (eta, -eta))
    assert (higher - lower) / (2 * eta) == pytest.approx(change, abs=6e-7)


def _entropy(logits):
    policy = np.exp(logits) / np.exp(logits).sum()
    return -policy @ np.log(policy)


@st.composite
def batches(draw):
    """advantage, logp, old, entropy, mask and expected over [B, L]; some rows empty, some without advantage."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = random.random((draw(st.integers(1, 6)), draw(st.integers(1, 30)))) < 0.7
    mask[0, 0] = True
    advantage = np.where(random.random((len(mask), 1)) < 0.2, 0.0, random.normal(size=(len(mask), 1)))
    logp, entropy = -random.exponential(1, mask.shape), random.exponential(1, mask.shape)
    old = logp - random.normal(0, draw(st.sampled_from([0.0, 0.3, 30.0])), mask.shape)
    return np.broadcast_to(advantage, mask.shape), logp, old, entropy, mask, random.normal(0, 0.2, mask.shape)


def flat(batch):
    advantage, logp, old, entropy, mask, expected = batch
    return inputs(advantage[mask], logp[mask], entropy[mask], mask.sum(axis=1), old[mask], expected[mask])


PARAMS = st.fixed_dictionaries({
    "alpha_c": st.floats(0, 2), "floor": st.floats(0, 1), "kappa": st.floats(0, 100), "tau": st.floats(0, 1),
    "xi_norm": st.sampled_from(["max", "p99"]),
})
MODES = st.sampled_from(["exact", "row_mean"])


@given(batches(), PARAMS, MODES)
@settings(max_examples=100, deadline=None)
def test_it_agrees_with_the_oracle(batch, params, mode):
    advantage, logp, old, entropy, mask, expected = batch
    wanted = oracle.modulate(advantage, logp, old, entropy, mask, expected if mode == "exact" else None, **params)
    np.testing.assert_allclose(modulated(flat(batch), mode=mode, **params), wanted[mask], rtol=1e-6, atol=1e-12)


@given(batches(), MODES, st.sampled_from(["max", "p99"]))
@settings(max_examples=30, deadline=None)
def test_8_without_gain_and_damping_it_is_the_identity(batch, mode, xi_norm):
    assert (modulated(flat(batch), mode=mode, xi_norm=xi_norm, alpha_c=0, floor=1) == batch[0][batch[4]]).all()


@given(batches(), PARAMS, MODES, st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_8_signs_stay_and_scales_pass_through(batch, params, mode, scale):
    plain, advantage = modulated(flat(batch), mode=mode, **params), batch[0][batch[4]]
    assert (np.sign(plain) == np.sign(advantage)).all()
    scaled = modulated(flat((batch[0] * scale, *batch[1:])), mode=mode, **params)
    np.testing.assert_allclose(scaled, scale * plain, rtol=1e-9)


def test_trajectories_without_tokens_change_nothing():
    plain, with_empty = (inputs([1.0, 1, -1], np.log(P), H, tokens=tokens) for tokens in ([2, 1], [2, 0, 1]))
    with np.errstate(all="raise"):
        assert (modulated(with_empty, mode="row_mean") == modulated(plain, mode="row_mean")).all()


def test_one_entropy_compensates_nothing():
    given = inputs([1.0, 2.0], [-1.0, -0.5], [0.7, 0.7 + 1e-9], expected=[0.0, 0.0])
    assert modulated(given, floor=1).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("xi_norm", ["max", "p99"])
def test_no_advantage_stays_exactly_zero_and_no_swing_damps_nothing(xi_norm):
    values, _, metrics = METHOD(inputs(np.zeros(3), np.log(P), H), {"mode": "row_mean", "xi_norm": xi_norm}, {})
    assert (values == 0).all()
    assert metrics["stabilisation_mean"] == 1
    alone = inputs([1.0, -2.0], [-1.0, -2.0], [0.7, 0.7], tokens=[1, 1])
    assert modulated(alone, mode="row_mean", kappa=1, xi_norm=xi_norm).tolist() == [1.0, -2.0]


def test_a_clipped_token_has_no_swing():
    """The band is the loss's: the largest positive ratio and the smallest negative one still count."""
    ratios = np.array([1.279, 1.281, 0.5, 0.801, 0.799, 1.5])
    given = inputs([1.0, 1, 1, -1, -1, -1], np.full(6, -0.5), np.ones(6), old=-0.5 - np.log(ratios),
                   expected=np.zeros(6), clip_low=0.2, clip_high=0.28)
    found = modulated(given, alpha_c=0, floor=0, kappa=400, tau=0.1)
    np.testing.assert_allclose(found, [0, 1, 0, 0, -1, 0], atol=1e-9)


def test_the_99th_percentile_is_not_driven_by_one_token():
    swings = np.concatenate([np.linspace(0, 1, 200), [1e3]])
    given = inputs(np.ones(201), np.zeros(201), np.zeros(201), expected=swings)
    by_max, by_p99 = (modulated(given, xi_norm=norm) for norm in ("max", "p99"))
    assert by_max[:200] == pytest.approx(1)
    assert by_p99[199:] == pytest.approx([0.751016] * 2, abs=1e-6)
    assert by_p99[100] == pytest.approx(1)


def test_a_99th_percentile_of_zero_leaves_only_what_is_above_it():
    given = inputs(np.ones(300), np.zeros(300), np.zeros(300), expected=np.eye(1, 300)[0])
    np.testing.assert_allclose(modulated(given, xi_norm="p99"), [0.751016] + [1] * 299, atol=5e-7)


@pytest.mark.parametrize("difference", [-1e3, -50.0, 50.0, 1e3])
def test_outputs_are_finite(difference):
    given = inputs([1.0, -1, 1e30], np.full(3, difference - 1e3), [0.0, 1e3, 1.0], old=np.full(3, -1e3),
                   expected=np.zeros(3))
    assert np.isfinite(modulated(given)).all()


def test_an_empty_step_stays_empty():
    assert modulated(inputs([], [], [], tokens=[], expected=[])).tolist() == []
    assert modulated(inputs([], [], [], tokens=[]), mode="row_mean").tolist() == []


@pytest.mark.parametrize("missing", ["logp", "logp_old", "entropy", "expected"])
def test_what_is_missing_is_named(missing):
    given = dataclasses.replace(row(), **{"expected": np.zeros(3), missing: None})
    with pytest.raises(ValueError, match=rf"^{missing}: found none"):
        modulated(given)


def test_defaults_and_needs():
    assert DynamoParams().model_dump() == {
        "alpha_c": 0.2, "floor": 0.6, "kappa": 50.0, "tau": 0.99, "mode": "exact", "xi_norm": "max"}
    assert DynamoParams().needs() == {"entropy", "logp_old", "expected"}
    assert DynamoParams(mode="row_mean").needs() == {"entropy", "logp_old"}
