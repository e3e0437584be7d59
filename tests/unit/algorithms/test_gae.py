"""GAE, its returns and the critic's loss: baselines.md S4 entry 6, worked number 3, against the oracle."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.gae import GaeParams, explained, gae, returns
from hone.algorithms.advantages.statistics import discounted_sums, whitened
from hone.algorithms.inputs import AdvantageInputs, Floats
from hone.algorithms.losses.critic import critic_loss
from hone.algorithms.method import Method
from hone.trajectory.turns import Turns
from tests.oracles import gae as oracle

GAE: Method[AdvantageInputs, Floats] = Method(gae, GaeParams)


def inputs(reward, tokens, values, turns=None):
    reward = np.array(reward, np.float64)
    zeros = np.zeros(len(reward), np.int64)
    return AdvantageInputs(reward, zeros, np.array(tokens, np.int64), np.full(len(reward), np.nan),
                           values=None if values is None else np.array(values, np.float64), turns=turns)


def turns(trajectory, tokens, reward):
    return Turns(np.array(trajectory), np.array(tokens), np.array(reward, np.float64),
                 np.zeros(len(tokens), np.int64), ("act",) * len(tokens))


def advantage(given, **params):
    return GAE(given, params, {})[0]


THREE = inputs([1], [3], [0.2, 0.4, 0.7])


@pytest.mark.parametrize(("given", "gamma", "expected"), [
    (THREE, 1.0, [0.75575, 0.585, 0.3]),
    (THREE, 0.99, [0.736929, 0.575150, 0.3]),
    (inputs([1], [2], [0.2, 0.7]), 1.0, [0.785, 0.3]),  # position 2 masked: it is not among the trained tokens
])
def test_worked_number_3(given, gamma, expected):
    np.testing.assert_allclose(advantage(given, gamma=gamma, lam=0.95, whiten=False), expected, atol=5.1e-7)


def test_worked_number_3_returns():
    np.testing.assert_allclose(returns(THREE, GaeParams(lam=0.95)), [0.95575, 0.985, 1], atol=1e-12)


def test_returns_are_before_whitening():
    plain = advantage(THREE, whiten=False)
    np.testing.assert_allclose(returns(THREE, GaeParams(whiten=True)), plain + THREE.values, atol=1e-12)


def test_whitening_is_on_by_default_and_over_the_tokens_of_the_batch():
    values = advantage(inputs([1, 0], [3, 1], [0.2, 0.4, 0.7, 0.1]))
    assert values.mean() == pytest.approx(0, abs=1e-12)
    assert values.std() == pytest.approx(1, abs=1e-6)


def test_no_variance_is_exactly_zero():
    given = inputs([0.3, 0.3], [2, 1], [0.1, 0.1, 0.1])
    assert (advantage(given) == 0).all()
    assert explained(given.values + 0.2, np.full(3, 0.2)) == 0


@pytest.mark.parametrize(("values", "share"), [([1, 1, 0, 0], 1.0), ([0.5, 0.5, 0.5, 0.5], 0.0), ([0, 0, 1, 1], -3.0)])
def test_how_much_a_critic_explains(values, share):
    targets = returns(inputs([1, 0], [2, 2], values), GaeParams())
    assert explained(targets, targets - np.array(values)) == share


def test_lambda_zero_looks_one_token_ahead():
    np.testing.assert_allclose(advantage(THREE, lam=0, whiten=False), [0.2, 0.3, 0.3], atol=1e-12)


def test_turns_pay_at_their_last_trained_token_and_not_without_one():
    paid = turns([0, 0, 0, 1], [2, 0, 1, 1], [0.5, 8.0, 0.25, -1.0])
    given = inputs([1, 0], [3, 1], np.zeros(4), paid)
    np.testing.assert_allclose(advantage(given, gamma=0.5, whiten=False), [0.5625, 1.125, 1.25, -1])


def test_trajectories_do_not_see_each_other():
    both, first = inputs([1, 5], [3, 2], [0.2, 0.4, 0.7, 9, 9]), THREE
    np.testing.assert_array_equal(returns(both, GaeParams())[:3], returns(first, GaeParams()))


def test_without_values_it_says_what_it_needs():
    assert GaeParams().needs() == {"values"}
    for call in (lambda given: gae(given, GaeParams(), {}), lambda given: returns(given, GaeParams())):
        with pytest.raises(ValueError, match="values: found none"):
            call(inputs([1], [1], None))


@pytest.mark.parametrize("factor", [0.0, 0.3, 0.95, 0.9999, 1.0])
def test_discounted_sums_of_long_runs_are_exact(factor):
    random = np.random.default_rng(3)
    lengths = np.array([1, 4000, 2, 777, 1024])
    values, expected = random.normal(size=lengths.sum()), []
    for run in np.split(values, np.cumsum(lengths)[:-1]):
        ahead, sums = 0.0, []
        for value in reversed(run):
            ahead = value + factor * ahead
            sums.append(ahead)
        expected += reversed(sums)
    np.testing.assert_allclose(discounted_sums(values, lengths, factor), expected, rtol=0, atol=1e-9)


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, length = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    mask = random.random((rows, length)) < 0.6
    mask[np.arange(rows), random.integers(0, length, rows)] = True
    cuts = [[0, *np.sort(random.integers(0, length + 1, 2)).tolist(), length] for _ in range(rows)]
    spans = [[(start, end, random.normal()) for start, end in pairwise(cut)] for cut in cuts]
    return random.normal(size=rows), random.normal(size=mask.shape), mask, spans


@given(batches(), st.sampled_from([1.0, 0.9]), st.sampled_from([1.0, 0.95, 0.0]), st.sampled_from([0, 1]))
@settings(max_examples=60, deadline=None)
def test_advantages_and_returns_agree_with_the_oracle(batch, gamma, lam, ddof):
    outcome, values, mask, spans = batch
    flat = [(row, mask[row, start:end].sum(), reward) for row, each in enumerate(spans) for start, end, reward in each]
    given = inputs(outcome, mask.sum(axis=1), values[mask], turns(*zip(*flat, strict=True)))
    plain, expected = oracle.raw(oracle.rewards(outcome, mask, spans), values, mask, gamma, lam)
    params = {"gamma": gamma, "lam": lam}
    np.testing.assert_allclose(advantage(given, whiten=False, **params), plain[mask], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(returns(given, GaeParams(**params)), expected[mask], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        advantage(given, ddof=ddof, **params), oracle.whitened(plain, mask, ddof)[mask], rtol=1e-6, atol=1e-6)


def test_whitening_one_value_is_zero_under_bessels_correction():
    assert whitened(np.array([3.0]), 1).tolist() == [0]


def values_returns_old(size):
    random = np.random.default_rng(7)
    return [torch.tensor(random.normal(size=size), dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize(("value", "target", "old", "expected"), [
    (0.0, 1.0, 0.0, 0.5), (2.0, 3.0, 0.0, 3.125), (2.0, 0.0, 0.0, 2.0), (0.3, 0.3, 0.0, 0.0),
])
def test_critic_loss_takes_the_worse_of_free_and_clipped(value, target, old, expected):
    values, returned, before = (torch.tensor([each], dtype=torch.float64) for each in (value, target, old))
    assert critic_loss(values, returned, before).tolist() == [expected]


@pytest.mark.parametrize("clip", [0.5, 0.1])
def test_critic_loss_and_its_gradient_agree_with_the_oracle(clip):
    values, targets, old = values_returns_old(80)
    start = values.numpy().copy()
    loss = critic_loss(values.requires_grad_(), targets, old, clip)
    np.testing.assert_allclose(loss.detach(), oracle.critic_loss(start, targets.numpy(), old.numpy(), clip), atol=1e-12)
    loss.sum().backward()
    step = 1e-6
    up, down = (oracle.critic_loss(start + sign * step, targets.numpy(), old.numpy(), clip) for sign in (1, -1))
    np.testing.assert_allclose(values.grad, (up - down) / (2 * step), atol=1e-5)


def test_critic_loss_keeps_the_tensors_type():
    values, targets, old = (each.float() for each in values_returns_old(3))
    assert critic_loss(values, targets, old).dtype == torch.float32
