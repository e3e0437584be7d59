"""GiGPO: baselines.md S4 entry 8 and worked number 13, siri.md worked example 1, against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.dr_grpo import dr_grpo
from hone.algorithms.advantages.gigpo import GigpoParams, gigpo
from hone.algorithms.inputs import AdvantageInputs, Floats
from hone.algorithms.method import Method, Params
from hone.trajectory.turns import Turns
from tests.oracles import gigpo as oracle

GIGPO: Method[AdvantageInputs, Floats] = Method(gigpo, GigpoParams)


def inputs(outcome, paid, seen, group=None, tokens=None):
    """Trajectories of turns: paid[i][t], seen[i][t] (texts) and tokens[i][t], by default one each."""
    lengths = [len(row) for row in paid]
    flat = [text for row in seen for text in row]
    tokens = [[1] * length for length in lengths] if tokens is None else tokens
    turns = Turns(
        np.repeat(np.arange(len(paid)), lengths), np.array([n for row in tokens for n in row], np.int64),
        np.array([r for row in paid for r in row], np.float64),
        np.array([flat.index(text) for text in flat], np.int64), ("act",) * len(flat))
    return AdvantageInputs(
        np.array(outcome, np.float64), np.zeros(len(paid), np.int64) if group is None else np.array(group, np.int64),
        np.array([sum(row) for row in tokens], np.int64), np.full(len(paid), np.nan), turns=turns)


def advantage(given, **params):
    return GIGPO(given, params, {})[0]


SEEN_13 = [["s0", "s1", "s2"], ["s0", "s1"], ["s0", "s3"]]
JOINT_13 = [0.618333, 0.808333, 0.333333, -1.284167, -1.141667, 0.665833, 0.333333]
SIRI = inputs([1, 0], [[0, 0], [0, 0, 0]], [["s0", "s1"], ["s0", "s0", "s1"]])


@pytest.mark.parametrize(("outcome", "paid"), [
    ([1, 0, 1], [[0, 0, 0], [0, 0], [0, 0]]), ([0, 0, 0], [[0, 0, 1], [0, 0], [0, 1]]),
])
def test_baselines_worked_number_13(outcome, paid):
    np.testing.assert_allclose(advantage(inputs(outcome, paid, SEEN_13)), JOINT_13, atol=5.1e-7)


def test_siri_worked_example_1():
    np.testing.assert_allclose(advantage(SIRI), [1.1333, 1.0, -0.8167, -0.8167, -1.0], atol=5.1e-5)


def test_siri_worked_example_1_with_a_vote_for_each_step():
    np.testing.assert_allclose(
        advantage(SIRI, cross_step_stats=True, omega=0), [0.6, 0.6, -0.4, -0.4, -0.4], atol=1e-12)


def test_siri_property_2_without_the_steps_part_it_is_grpo_without_std():
    given = inputs([1, 0, 0.5], [[0, 0, 0], [0, 0], [0]], [["a", "b", "c"], ["a", "b"], ["a"]],
                   tokens=[[2, 1, 1], [1, 3], [2]])
    np.testing.assert_allclose(advantage(given, omega=0), dr_grpo(given, Params(), {})[0], atol=1e-12)


def test_an_anchor_group_of_one_adds_nothing():
    given = inputs([1, 0], [[0], [0]], [["here"], ["there"]])
    assert advantage(given).tolist() == [0.5, -0.5]
    assert GIGPO(given, {}, {})[2]["single_anchor_fraction"] == 1


def test_one_text_under_two_prompts_is_two_anchors():
    given = inputs([1, 1, 0, 0], [[0]] * 4, [["s"]] * 4, group=[0, 0, 1, 1])
    assert (advantage(given) == 0).all()


def test_a_turn_without_trained_tokens_still_counts_as_a_member():
    rows = [[0, 0], [0]], [["s", "t"], ["s"]]
    trained, silent = (inputs([1, 0], *rows, tokens=tokens) for tokens in ([[1, 1], [1]], [[0, 1], [2]]))
    np.testing.assert_array_equal(advantage(silent), advantage(trained)[[1, 2, 2]])


def test_a_turns_advantage_is_that_of_all_its_tokens():
    tokens = [[1, 2], [3, 1, 2]]
    given = inputs([1, 0], [[0, 0], [0, 0, 0]], [["s0", "s1"], ["s0", "s0", "s1"]], tokens=tokens)
    np.testing.assert_array_equal(advantage(given), np.repeat(advantage(SIRI), [n for row in tokens for n in row]))


@pytest.mark.parametrize("norm", ["mean_norm", "mean_std_norm"])
@pytest.mark.parametrize("cross_step_stats", [False, True])
def test_no_variance_is_exactly_zero(norm, cross_step_stats):
    given = inputs([0.3, 0.3 + 5e-9], [[0], [0]], [["s"], ["s"]])
    assert (advantage(given, norm=norm, cross_step_stats=cross_step_stats) == 0).all()


def test_a_single_trajectory_has_no_episode_part_and_is_counted():
    values, _, metrics = GIGPO(inputs([1], [[0, 0]], [["a", "b"]]), {}, {})
    assert values.tolist() == [0, 0]
    assert metrics["single_sample_groups"] == 1


def test_groups_count_as_varying_by_all_that_their_steps_were_paid():
    given = inputs([1, 1], [[-0.1], [0]], [["a"], ["b"]])
    assert GIGPO(given, {}, {})[2]["zero_variance_groups"] == 0
    np.testing.assert_allclose(advantage(given), [-0.05, 0.05], atol=1e-12)


def test_the_turns_rewards_are_left_as_they_were():
    advantage(SIRI)
    assert (SIRI.turns.reward == 0).all()


def test_without_turns_it_says_what_it_needs():
    assert GigpoParams().needs() == {"turns"}
    with pytest.raises(ValueError, match="turns: found none"):
        advantage(AdvantageInputs(np.zeros(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1)))


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, places = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    lengths = random.integers(1, 6, rows)
    digits = draw(st.sampled_from([0, 1, 6]))
    paid = [np.round(random.normal(size=length), digits).tolist() for length in lengths]
    seen = [[f"s{place}" for place in random.integers(0, places, length)] for length in lengths]
    tokens = [[*random.integers(0, 3, length - 1).tolist(), 1] for length in lengths]
    return np.round(random.normal(size=rows), digits).tolist(), paid, seen, random.integers(0, 3, rows).tolist(), tokens


@given(batches(), st.sampled_from([1.0, 0.95, 0.0]), st.sampled_from([0.0, 1.0, 0.3]), st.booleans(), st.booleans())
@settings(max_examples=80, deadline=None)
def test_it_agrees_with_the_oracle(batch, gamma, omega, normalised, cross_step):
    outcome, paid, seen, group, tokens = batch
    found = advantage(inputs(*batch), gamma=gamma, omega=omega, cross_step_stats=cross_step,
                      norm="mean_std_norm" if normalised else "mean_norm")
    rewards = [[*row[:-1], row[-1] + last] for row, last in zip(paid, outcome, strict=True)]
    rows = oracle.gigpo(rewards, seen, group, gamma, omega, normalised, cross_step)
    expected = [a for row, counts in zip(rows, tokens, strict=True)
                for a, count in zip(row, counts, strict=True) for _ in range(count)]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
