"""Step credit (v-tabler1.md, step-level credit) against hand-made numbers and the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.inputs import Floats, ModulationInputs
from hone.algorithms.method import Method
from hone.algorithms.modulations.step_credit import StepCreditParams, step_credit
from tests.oracles import v_tabler1 as oracle

CREDIT: Method[ModulationInputs, Floats] = Method(step_credit, StepCreditParams)


def credited(advantage, tokens, segment=None, score=None, **params):
    given = ModulationInputs(
        np.array(advantage, np.float64), np.array(tokens, np.int64),
        segment=None if segment is None else np.array(segment, np.int64),
        score=None if score is None else np.array(score, np.float64))
    return CREDIT(given, params, {})


def test_each_steps_tokens_move_by_its_distance_from_the_trajectorys_mean():
    values, _, metrics = credited(
        [2, 2, 2, 2, 2, -1, -1], [5, 2], [-1, 0, 0, 0, 1, 3, 2], [1.0, 0.2, 0.5, 0.7], c=0.5)
    np.testing.assert_allclose(values, [2, 2.4, 2.4, 2.4, 1.6, -1.05, -0.95], atol=1e-12)
    assert metrics["factor_max"] == pytest.approx(1.2)


def test_it_is_off_by_default_and_then_needs_nothing():
    assert credited([1.5, -2], [2], [0, 1], [1.0, 0.0])[0].tolist() == [1.5, -2]
    assert credited([1.5, -2], [2])[0].tolist() == [1.5, -2]
    assert StepCreditParams().needs() == frozenset()
    assert StepCreditParams(c=0.5).needs() == {"turns", "steps"}


def test_a_trajectory_without_a_step_keeps_its_advantage():
    assert credited([1, 1, 3], [2, 1], [-1, -1, 0], [0.4], c=1)[0].tolist() == [1, 1, 3]
    assert credited([], [], [], [], c=1)[0].tolist() == []


@pytest.mark.parametrize("given", [{}, {"segment": [0]}, {"score": [1.0]}])
def test_it_raises_without_scored_steps(given):
    with pytest.raises(ValueError, match="segment, score"):
        credited([1], [1], **given, c=0.1)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 1))
@settings(max_examples=50, deadline=None)
def test_it_agrees_with_the_oracle_and_never_turns_a_sign(seed, c):
    random = np.random.default_rng(seed)
    tokens = random.integers(1, 9, random.integers(1, 6))
    row = np.repeat(np.arange(len(tokens)), tokens)
    segment = np.where(random.random(len(row)) < 0.8, 3 * row + random.integers(0, 3, len(row)), -1)
    score, advantage = random.random(3 * len(tokens)), random.normal(size=len(row))
    values = credited(advantage, tokens, segment, score, c=c)[0]
    np.testing.assert_allclose(values, oracle.step_credit(advantage, row, segment, score, c), rtol=1e-6)
    assert (values * advantage >= 0).all()
