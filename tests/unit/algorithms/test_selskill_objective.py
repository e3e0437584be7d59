"""SelSkill's joint objective as weights of tokens, against worked numbers, the oracle and its finite differences."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import ADVANTAGES, AGGREGATIONS, MODULATIONS
from hone.algorithms.inputs import AdvantageInputs, ModulationInputs
from tests.oracles import dpo as oracle

LN2 = math.log(2)
ONE = {"c_nll": 0.0}


def inputs(pairs, local=None):
    """Of [(winner, loser)], each side a list of (logp, logp_ref)."""
    sides = [side for pair in pairs for side in pair]
    tokens = np.array([len(side) for side in sides])
    flat = np.array([token for side in sides for token in side], float).reshape(-1, 2)
    kinds = ["skip" if one else "answer" for one in local or [False] * len(pairs) for _ in range(2)]
    sign = np.repeat(np.where(np.arange(len(sides)) % 2 == 0, 1.0, -1.0), tokens)
    return ModulationInputs(sign, tokens, flat[:, 0], flat[:, 1], group=np.arange(len(sides)) // 2, kind=kinds)


def weighed(given, **params):
    weights, _, metrics = MODULATIONS["selskill"](given, params, {})
    return weights, metrics


def one(winner, loser, **params):
    """Loss, h and slopes of one episode pair; each side is (logp of its tokens, logp_ref of them)."""
    weights, metrics = weighed(inputs([([*zip(*winner, strict=True)], [*zip(*loser, strict=True)])]), **ONE, **params)
    return metrics["episode_loss"], metrics["episode_margin"], -weights


def test_selskill_worked_example_1():
    loss, h, slope = one(([-12.0], [-13.0]), ([-15.0], [-14.2]))
    assert h == pytest.approx(0.18)
    assert loss == pytest.approx(0.6072, abs=5e-5)
    assert slope == pytest.approx([-0.0455, 0.0455], abs=5e-5)


def test_baselines_worked_number_10():
    loss, h, slope = one(([-12.0], [-13.0]), ([-15.0], [-14.0]))
    assert (h, loss) == (pytest.approx(0.2), pytest.approx(0.598139, abs=5e-7))
    assert slope == pytest.approx([-0.045017, 0.045017], abs=5e-7)


def test_selskill_worked_example_2():
    winner, loser = ([-1.2, -0.6, -2.0, -3.0], [-1.5, -0.6, -2.2, -3.5]), ([-0.4, -1.0, -0.7], [-0.3, -1.0, -0.7])
    loss, h, _ = one(([*winner[0][:3]], [*winner[1][:3]]), loser)
    assert (h, loss) == (pytest.approx(0.06), pytest.approx(0.6636, abs=5e-5))
    loss, h, slope = one(winner, loser)
    assert (h, loss) == (pytest.approx(0.11), pytest.approx(0.6397, abs=5e-5))
    assert len(slope) == 7


def test_property_1_at_the_reference_every_pair_costs_ln_2():
    loss, h, _ = one(([-3.0], [-3.0]), ([-1.0, -2.0], [-1.0, -2.0]))
    assert (loss, h) == (pytest.approx(LN2), 0.0)


def test_property_5_swapping_the_sides_flips_the_margin():
    sides = ([-3.0, -1.0], [-2.0, -2.5]), ([-1.0], [-2.0])
    assert one(*sides)[1] == -one(*sides[::-1])[1]


def test_property_7_gradient():
    loss, h, slope = one(([-3.0, -1.0], [-2.0, -2.5]), ([-1.0], [-2.0]), beta=0.7)
    push = 0.7 / (1 + math.exp(h))
    np.testing.assert_allclose(slope, [-push, -push, push])
    assert loss == pytest.approx(oracle.loss(h))


def test_property_4_without_alpha_episode_pairs_alone_count():
    pairs = [([(-1.0, -2.0)], [(-1.0, -1.0)]), ([(-2.0, -1.0)], [(-3.0, -1.0)])]
    both, _ = weighed(inputs(pairs, [False, True]), alpha=0.0)
    assert (both[2:] == 0).all()
    np.testing.assert_allclose(both[:2], weighed(inputs(pairs[:1]))[0])


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 5))

    def of_side():
        return [tuple(row) for row in random.normal(-2, 1, (random.integers(1, 4), 2)).tolist()]

    return [(of_side(), of_side()) for _ in range(count)], (random.random(count) < 0.5).tolist()


@given(batches(), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.2]))
@settings(max_examples=40, deadline=None)
def test_weights_are_the_slopes_of_the_joint_objective(batch, normalised, alpha, nll):
    pairs, local = batch
    found, _ = weighed(inputs(pairs, local), beta=0.4, alpha=alpha, c_nll=nll, length_norm=normalised)
    slopes, step = [], 1e-6
    for place, pair in enumerate(pairs):
        for side in (0, 1):
            for token, (new, ref) in enumerate(pair[side]):
                values = []
                for sign in (1, -1):
                    moved = [([*winner], [*loser]) for winner, loser in pairs]
                    moved[place][side][token] = (new + sign * step, ref)
                    values.append(oracle.joint(moved, local, 0.4, alpha, nll, normalised))
                slopes.append((values[0] - values[1]) / (2 * step))
    np.testing.assert_allclose(-found, slopes, atol=1e-8)


def test_figures_of_both_kinds_are_those_of_the_oracle():
    pairs = [([(-1.0, -2.0)], [(-1.0, -1.0)]), ([(-2.0, -1.0), (-0.5, -0.5)], [(-3.0, -1.0)])]
    _, metrics = weighed(inputs(pairs, [False, True]))
    margins = [oracle.margin(winner, loser, 0.1) for winner, loser in pairs]
    assert metrics == pytest.approx({
        "episode_pairs": 1, "episode_loss": oracle.loss(margins[0]), "episode_margin": margins[0],
        "episode_accuracy": 1, "episode_winner_logp": -1.0,
        "step_pairs": 1, "step_loss": oracle.loss(margins[1]), "step_margin": margins[1], "step_accuracy": 1,
        "step_winner_logp": -1.25})


def test_a_side_without_its_other_side_moves_nothing():
    whole = inputs([([(-1.0, -2.0)], [(-1.0, -1.0)]), ([(-2.0, -1.0)], [(-3.0, -1.0)])])
    keep = np.array([True, True, True, False])
    lone = ModulationInputs(whole.advantage[keep], np.array([1, 1, 1, 0]), whole.logp[keep], whole.logp_old[keep],
                            group=whole.group, kind=whole.kind)
    found, metrics = weighed(lone)
    np.testing.assert_allclose(found[:2], weighed(inputs([([(-1.0, -2.0)], [(-1.0, -1.0)])]))[0])
    assert (found[2], metrics["episode_pairs"]) == (0, 1)


def test_a_hopeless_pair_stays_finite():
    loss, h, slope = one(([-1e4], [0.0]), ([0.0], [-1e4]), beta=10.0)
    assert loss == pytest.approx(-h)
    assert slope.tolist() == [-10.0, 10.0]


def test_the_advantage_names_the_sides_and_the_aggregation_sums():
    given = AdvantageInputs(np.array([1.0, 0.0]), np.zeros(2, int), np.array([2, 1]), np.full(2, math.nan))
    np.testing.assert_array_equal(ADVANTAGES["preference"](given, {}, {})[0], [1, 1, -1])
    assert AGGREGATIONS["token-sum"](AggregationInputs(np.array([2, 1]), 8), {}, {})[0].tolist() == [1, 1]


def test_without_log_probabilities_it_is_refused():
    with pytest.raises(ValueError, match="expected both log-probabilities"):
        weighed(ModulationInputs(np.ones(1), np.ones(1, int)))
