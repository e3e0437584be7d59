"""DPO on masked pairs and SelSkill's joint objective, against worked numbers, the oracle and finite differences."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.method import Method
from hone.algorithms.unwired.pair_losses import PairInputs, PairLossParams, SelskillParams, dpo, selskill
from tests.oracles import dpo as oracle

F64 = torch.float64
DPO: Method[Any, Any] = Method(dpo, PairLossParams)
SELSKILL: Method[Any, Any] = Method(selskill, SelskillParams)


def inputs(rows, local=None, **counts):
    """Of [(winner, loser)], each side a list of (logp, logp_ref)."""
    flat = [(new, ref, place, side == 0) for place, pair in enumerate(rows) for side in (0, 1)
            for new, ref in pair[side]]
    new, ref, place, winner = (list(each) for each in zip(*flat, strict=True))
    return PairInputs(
        torch.tensor(new, dtype=F64, requires_grad=True), torch.tensor(ref, dtype=F64), torch.tensor(place),
        torch.tensor(winner), torch.tensor([False] * len(rows) if local is None else local), **counts)


def one(winner, loser, **params):
    """Loss, h and slopes of one pair; each side is (logp of its tokens, logp_ref of them)."""
    given = inputs([([*zip(*winner, strict=True)], [*zip(*loser, strict=True)])])
    loss, _, metrics = DPO(given, params, {})
    loss.sum().backward()
    assert given.logp.grad is not None
    return loss.item(), metrics["margin"], given.logp.grad.numpy()


def test_baselines_worked_number_10():
    loss, h, slope = one(([-12.0], [-13.0]), ([-15.0], [-14.0]))
    assert h == pytest.approx(0.2)
    assert loss == pytest.approx(0.598139, abs=5e-7)
    np.testing.assert_allclose(slope, [-0.045017, 0.045017], atol=5e-7)


def test_selskill_worked_example_1():
    loss, h, slope = one(([-12.0], [-13.0]), ([-15.0], [-14.2]))
    assert h == pytest.approx(0.18)
    assert loss == pytest.approx(0.6072, abs=5e-5)
    assert slope[1].item() == pytest.approx(0.0455, abs=5e-5)


def test_selskill_worked_example_2():
    winner, loser = ([-1.2, -0.6, -2.0, -3.0], [-1.5, -0.6, -2.2, -3.5]), ([-0.4, -1.0, -0.7], [-0.3, -1.0, -0.7])
    loss, h, slope = one(([*winner[0][:3]], [*winner[1][:3]]), loser)
    assert (h, loss) == (pytest.approx(0.06), pytest.approx(0.6636, abs=5e-5))
    loss, h, slope = one(winner, loser)
    assert (h, loss) == (pytest.approx(0.11), pytest.approx(0.6397, abs=5e-5))
    assert len(slope) == 7


def test_property_1_at_the_reference_every_pair_costs_ln_2():
    assert one(([-3.0], [-3.0]), ([-1.0, -2.0], [-1.0, -2.0]))[:2] == (pytest.approx(0.6931, abs=5e-5), 0.0)


def test_property_5_swapping_the_sides_flips_the_margin():
    sides = ([-3.0, -1.0], [-2.0, -2.5]), ([-1.0], [-2.0])
    assert one(*sides)[1] == -one(*sides[::-1])[1]


def test_property_7_gradient():
    loss, h, slope = one(([-3.0, -1.0], [-2.0, -2.5]), ([-1.0], [-2.0]), beta=0.7)
    push = 0.7 / (1 + math.exp(h))
    np.testing.assert_allclose(slope, [-push, -push, push])
    assert loss == pytest.approx(oracle.loss(h))


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 6))

    def of_side():
        return [tuple(row) for row in random.normal(-2, 1, (random.integers(1, 5), 2)).tolist()]

    return [(of_side(), of_side()) for _ in range(count)], (random.random(count) < 0.5).tolist()


@given(batches(), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.05]))
@settings(max_examples=50, deadline=None)
def test_the_joint_objective_agrees_with_the_oracle(batch, normalised, alpha, nll):
    pairs, local = batch
    params = {"beta": 0.3, "length_norm": normalised}
    loss = DPO(inputs(pairs, local), params, {})[0].detach()
    margins = [oracle.margin(winner, loser, 0.3, normalised) for winner, loser in pairs]
    np.testing.assert_allclose(loss, [oracle.loss(h) for h in margins], rtol=1e-6)
    found = SELSKILL(inputs(pairs, local), {**params, "alpha": alpha, "c_nll": nll}, {})[0]
    assert found.shape == (len(pairs),)
    assert found.sum().item() == pytest.approx(oracle.joint(pairs, local, 0.3, alpha, nll, normalised), rel=1e-6)


def test_property_4_without_alpha_episode_pairs_alone_count():
    pairs = [([(-1.0, -2.0)], [(-1.0, -1.0)]), ([(-2.0, -1.0)], [(-3.0, -1.0)])]
    found = SELSKILL(inputs(pairs, [False, True]), {"alpha": 0.0}, {})[0]
    assert found[1] == 0
    assert found[0] > 0


@pytest.mark.parametrize("normalised", [False, True])
def test_gradients_match_finite_differences_of_the_oracle(normalised):
    pairs = [([(-1.0, -2.0), (-0.4, -0.9)], [(-1.2, -1.0)]), ([(-2.0, -1.0)], [(-3.0, -1.0), (-0.2, -0.3)]),
             ([(-0.7, -0.8)], [(-1.5, -1.9)])]
    local, step = [False, True, True], 1e-6
    given = inputs(pairs, local)
    SELSKILL(given, {"beta": 0.4, "alpha": 0.7, "c_nll": 0.2, "length_norm": normalised}, {})[0].sum().backward()
    slopes = []
    for place, pair in enumerate(pairs):
        for side in (0, 1):
            for token, (new, ref) in enumerate(pair[side]):
                values = []
                for sign in (1, -1):
                    moved = [([*winner], [*loser]) for winner, loser in pairs]
                    moved[place][side][token] = (new + sign * step, ref)
                    values.append(oracle.joint(moved, local, 0.4, 0.7, 0.2, normalised))
                slopes.append((values[0] - values[1]) / (2 * step))
    assert given.logp.grad is not None
    np.testing.assert_allclose(given.logp.grad.numpy(), slopes, atol=1e-8)


def test_parts_of_an_update_add_up_to_the_whole():
    pairs = [([(-1.0, -2.0), (-0.4, -0.9)], [(-1.2, -1.0)]), ([(-2.0, -1.0)], [(-3.0, -1.0)]),
             ([(-0.7, -0.8)], [(-1.5, -1.9)])]
    local = [False, True, True]
    whole = SELSKILL(inputs(pairs, local), {}, {})[0].detach()
    counts = {"pairs": torch.tensor([1.0, 2.0], dtype=F64), "winner_tokens": torch.tensor([2.0, 2.0], dtype=F64)}
    parts = [SELSKILL(inputs([pair], [kind], **counts), {}, {})[0].detach()
             for pair, kind in zip(pairs, local, strict=True)]
    torch.testing.assert_close(torch.cat(parts), whole)


def test_a_hopeless_pair_stays_finite():
    loss, h, slope = one(([-1e4], [0.0]), ([0.0], [-1e4]), beta=10.0)
    assert loss == pytest.approx(-h)
    assert slope.tolist() == [-10.0, 10.0]


def test_metrics_and_needs():
    pairs = [([(-1.0, -2.0)], [(-1.0, -1.0)]), ([(-2.0, -1.0)], [(-1.0, -1.0)])]
    metrics = DPO(inputs(pairs), {}, {})[2]
    assert metrics == {"margin": pytest.approx(0.0), "accuracy": 0.5}
    assert PairLossParams().needs() == SelskillParams().needs() == {"logp_ref"}
