"""Pooled step scores: hipif.md (a) 1 and 3 to 5 and its edge cases, against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.advantages.step_pooled import StepPooledParams, step_pooled
from hone.algorithms.inputs import AdvantageInputs, Floats
from hone.algorithms.method import Method
from hone.trajectory.turns import Turns
from tests.oracles import step_pooled as oracle

STEP_POOLED: Method[AdvantageInputs, Floats] = Method(step_pooled, StepPooledParams)


def inputs(outcome, process, group=None, tokens=None):
    """Trajectories of turns with process[i][t] and tokens[i][t], by default one each."""
    lengths = [len(row) for row in process]
    tokens = [[1] * length for length in lengths] if tokens is None else tokens
    turns = Turns(
        np.repeat(np.arange(len(process)), lengths), np.array([n for row in tokens for n in row], np.int64),
        np.array([p for row in process for p in row], np.float64), np.zeros(sum(lengths), np.int64),
        ("act",) * sum(lengths))
    zeros = np.zeros(len(process), np.int64)
    return AdvantageInputs(
        np.array(outcome, np.float64), zeros if group is None else np.array(group, np.int64),
        np.array([sum(row) for row in tokens], np.int64), np.full(len(process), np.nan), turns=turns)


def advantage(given, **params):
    return STEP_POOLED(given, params, {})[0]


PENALISED = [[0, -0.1, 0], [-0.1, 0]]


@pytest.mark.parametrize(("outcome", "process", "expected"), [
    ([1, 0], PENALISED, [0.879295, 0.679455, 0.879295, -1.318943, -1.119103]),
    ([1, 1], [[0, -0.1, 0], [0, 0]], [0.499988, -1.999950, 0.499988, 0.499988, 0.499988]),
])
def test_hipif_worked_examples_1_and_2(outcome, process, expected):
    np.testing.assert_allclose(advantage(inputs(outcome, process)), expected, atol=5.1e-7)


def test_hipif_worked_example_2_is_zero_for_plain_grpo():
    assert (grpo(inputs([1, 1], [[0, -0.1, 0], [0, 0]]), GrpoParams(), {})[0] == 0).all()


@pytest.mark.parametrize("traj_then_step", [False, True])
def test_hipif_property_1_equal_lengths_without_penalties_are_grpo(traj_then_step):
    given = inputs([1, 0, 0.5], [[0, 0]] * 3, tokens=[[2, 1], [1, 1], [3, 1]])
    expected = grpo(given, GrpoParams(std_ddof=0), {})[0]
    np.testing.assert_allclose(advantage(given, traj_then_step=traj_then_step), expected, atol=1e-12)


@pytest.mark.parametrize("traj_then_step", [False, True])
@pytest.mark.parametrize(("scale", "shift"), [(1, 3.5), (4, 0), (0.5, -1)])
def test_hipif_property_3_shift_of_outcomes_and_scale_of_all(scale, shift, traj_then_step):
    params = {"eps": 1e-12, "traj_then_step": traj_then_step}
    moved = inputs([scale * 1 + shift, shift], [[scale * p for p in row] for row in PENALISED])
    np.testing.assert_allclose(advantage(moved, **params), advantage(inputs([1, 0], PENALISED), **params), atol=1e-9)


def test_traj_then_step_adds_two_z_scores():
    found = advantage(inputs([1, 0], PENALISED), traj_then_step=True, eps=1e-12)
    terms = np.array([0, -0.1, 0, -0.1, 0])
    np.testing.assert_allclose(found, [1, 1, 1, -1, -1] + (terms - terms.mean()) / terms.std(), atol=1e-9)


@pytest.mark.parametrize("traj_then_step", [False, True])
@pytest.mark.parametrize("process", [[[0, 0], [0]], [[0, -4e-9], [0]], [[0, -1.5e-6], [0]]])
def test_scores_that_do_not_vary_by_eps_are_exactly_zero_and_counted(process, traj_then_step):
    values, _, metrics = STEP_POOLED(inputs([1, 1], process), {"traj_then_step": traj_then_step}, {})
    assert (values == 0).all()
    assert metrics["zero_variance_groups"] == 1


@pytest.mark.parametrize("traj_then_step", [False, True])
def test_a_single_trajectory_is_zero_even_if_its_steps_differ(traj_then_step):
    values, _, metrics = STEP_POOLED(inputs([1], [[0, -0.1]]), {"traj_then_step": traj_then_step}, {})
    assert values.tolist() == [0, 0]
    assert (metrics["single_sample_groups"], metrics["zero_variance_groups"]) == (1, 0)


def test_a_turn_without_trained_tokens_stays_in_the_pool():
    plain, silent = (inputs([1, 0], PENALISED, tokens=tokens) for tokens in (None, [[2, 0, 1], [1, 3]]))
    np.testing.assert_array_equal(advantage(silent), advantage(plain)[[0, 0, 2, 3, 4, 4, 4]])


def test_groups_are_pooled_apart():
    both = inputs([1, 5, 0, 7], [PENALISED[0], [0, -1], PENALISED[1], [-1]], group=[4, 2, 4, 2])
    found, alone = advantage(both), advantage(inputs([1, 0], PENALISED))
    np.testing.assert_array_equal(found[[0, 1, 2, 5, 6]], alone)


def test_without_turns_it_says_what_it_needs():
    assert StepPooledParams().needs() == {"turns"}
    with pytest.raises(ValueError, match="turns: found none"):
        advantage(AdvantageInputs(np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1)))


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = random.integers(1, 6, draw(st.integers(1, 9)))
    process = [(-0.1 * random.integers(0, draw(st.integers(1, 3)), length)).tolist() for length in lengths]
    outcome = random.integers(0, 2, len(lengths)).astype(float).tolist()
    tokens = [[*random.integers(0, 3, length - 1).tolist(), 1] for length in lengths]
    return outcome, process, random.integers(0, 3, len(lengths)).tolist(), tokens


@given(batches(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_it_agrees_with_the_oracle(batch, traj_then_step):
    outcome, process, group, tokens = batch
    rows = oracle.step_pooled(outcome, process, group, traj_then_step)
    expected = [a for row, counts in zip(rows, tokens, strict=True)
                for a, count in zip(row, counts, strict=True) for _ in range(count)]
    found = advantage(inputs(*batch), traj_then_step=traj_then_step)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
