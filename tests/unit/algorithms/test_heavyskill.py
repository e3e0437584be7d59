"""HeavySkill against the numbers of heavyskill.md, the oracle, and its exact properties."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.methods import attempts as heavy
from hone.algorithms.advantages.heavyskill import HeavyskillParams, heavyskill
from hone.algorithms.inputs import AdvantageInputs
from hone.graders.each_call import vote
from hone.harnesses import deliberation
from hone.harnesses.deliberation import Attempt
from hone.trajectory.turns import Turns
from tests.oracles import heavyskill as oracle


def inputs(rows):
    """Rows of (group, outcome, turns of (kind, own reward, tokens, observation))."""
    flat = [(place, *turn) for place, row in enumerate(rows) for turn in row[2]]
    place, kind, own, tokens, observation = zip(*flat, strict=True)
    turns = Turns(
        np.array(place, np.int64), np.array(tokens, np.int64), np.array(own, np.float64),
        np.array(observation, np.int64), kind)
    return AdvantageInputs(
        np.array([row[1] for row in rows], np.float64), np.array([row[0] for row in rows], np.int64),
        np.array([sum(turn[2] for turn in row[2]) for row in rows], np.int64), np.full(len(rows), np.nan), turns=turns)


def sequences(kind, rewards, group=0, observation=0, tokens=1):
    """One trajectory for each reward."""
    return [(group, reward, [(kind, 0.0, tokens, observation)]) for reward in rewards]


def tracks(rows, **params):
    return heavyskill(inputs(rows), HeavyskillParams(**params), {})[0]


# Numbers and properties of heavyskill.md (a) 1 to 6.

@pytest.mark.parametrize(("correct", "expected"), list(enumerate([0, 0.5, 0.7857, 0.9286, 0.9857, 1, 1, 1, 1])))
def test_a1_pass_at_four_of_eight(correct, expected):
    assert heavy.pass_at(8, correct, 4) == pytest.approx(expected, abs=5e-5)


def test_a1_pass_at_one():
    assert heavy.pass_at(8, 3, 1) == 0.375


def test_a2_deliberations_can_beat_the_attempts():
    deliberations = [[True, True, False, True], [False, False, True, False]]
    attempts = [[True, False, False, False], [False] * 4]
    means = [np.mean([metric(row) for row in rows]) for metric, rows in [
        (heavy.mean_correct, deliberations), (heavy.any_correct, deliberations),
        (heavy.mean_correct, attempts), (heavy.any_correct, attempts)]]
    assert means == [0.5, 1.0, 0.125, 0.5]


@pytest.mark.parametrize(("rewards", "expected"), [
    ((1, 0, 1, 1), [0.577349, -1.732047, 0.577349, 0.577349]),
    ((1, 0, 0, 0), [1.732047, -0.577349, -0.577349, -0.577349])])
def test_a3_advantages(rewards, expected):
    (track,) = tracks(sequences("deliberate", rewards))
    np.testing.assert_allclose(track.advantage, expected, atol=1.5e-6)
    assert (track.name, track.weight, track.loss) == ("deliberate", 1.0, "policy")


def test_a4_water_filling():
    assert deliberation.kept_lengths([10, 60, 50, 40], 100) == [10, 30, 30, 30]


def test_a5_the_order_of_attempts_changes_no_metric_and_no_cache():
    attempts = [Attempt(0, "a", 5), Attempt(1, "b", 4), Attempt(2, "a", 4), Attempt(3, None, 3), Attempt(4, "c", 9)]
    right = "b"
    seen = set()
    for order in itertools.permutations(attempts):
        flags = [each.answer == right for each in order]
        answers = [None if each.answer is None else str(each.answer) for each in order]
        caches = [frozenset(deliberation.select(order, 3, strategy)) for strategy in (
            "max_answer_num", "max_diversity", "max_length")]
        seen.add((heavy.mean_correct(flags), vote(answers, flags), heavy.any_correct(flags), *caches))
    assert len(seen) == 1


def test_a5_a_weight_of_zero_is_deliberate():
    rows = sequences("deliberate", (1, 0, 1)) + sequences("attempt", (1, 0))
    (alone,) = tracks(rows)
    both, attempts = tracks(rows, mode="joint", attempt_weight=0)
    assert both.advantage.tolist() == alone.advantage.tolist()
    assert both.counts.tolist() == alone.counts.tolist()
    assert attempts.weight == 0


def test_a6_returning_the_plurality_or_a_random_attempt():
    answers, correct = ["a", "b", "b", "c"], [True, False, False, False]
    plurality, _ = Counter(answers).most_common(1)[0]
    assert vote(answers, correct) == float(correct[answers.index(plurality)])
    every_attempt = [correct[answers.index(answer)] for answer in answers]
    assert heavy.mean_correct(every_attempt) == heavy.mean_correct(correct)


# The estimator.

def test_joint_compares_attempts_with_attempts():
    rows = sequences("attempt", (1, 0, 0, 0), tokens=2) + sequences("deliberate", (1, 0, 1, 1))
    deliberate, attempt = tracks(rows, mode="joint", attempt_weight=0.5)
    np.testing.assert_allclose(attempt.advantage[:8:2], [1.732047, -0.577349, -0.577349, -0.577349], atol=1.5e-6)
    np.testing.assert_allclose(deliberate.advantage[8:], [0.577349, -1.732047, 0.577349, 0.577349], atol=1.5e-6)
    assert attempt.counts.tolist() == [True] * 8 + [False] * 4
    assert (~attempt.counts == deliberate.counts).all()
    assert (attempt.name, attempt.weight) == ("attempt", 0.5)


def test_attempts_may_stand_before_their_deliberation():
    """The outcome is the last turn's; the attempts have rewards of their own."""
    rows = [(0, outcome, [("attempt", own, 1, 0) for own in rewards] + [("deliberate", 0.0, 1, 1 + place)])
            for place, (outcome, rewards) in enumerate([(1, (1, 0)), (0, (0, 0))])]
    deliberate, attempt = tracks(rows, mode="joint")
    np.testing.assert_allclose(deliberate.advantage[[2, 5]], [1, -1], atol=1e-5)
    np.testing.assert_allclose(
        attempt.advantage[[0, 1, 3, 4]], [1.732047, -0.577349, -0.577349, -0.577349], atol=1.5e-6)


def test_the_key_can_be_the_cache():
    rows = sequences("deliberate", (1, 0, 1, 1))
    found = inputs(rows)
    found = replace(found, turns=replace(found.turns, key=np.array([5, 5, 6, 6])))
    by_cache, by_query = (heavyskill(found, HeavyskillParams(group_key=key), {})[0][0] for key in ("call", "group"))
    np.testing.assert_allclose(by_cache.advantage, [1, -1, 0, 0], atol=1e-5)
    np.testing.assert_allclose(by_query.advantage, [0.577349, -1.732047, 0.577349, 0.577349], atol=1.5e-6)


def test_turns_that_the_grader_scored_have_no_outcome_beside():
    rows = [(0, 0.5, [("attempt", 1.0, 1, 0), ("deliberate", 1.0, 1, 0), ("deliberate", 0.0, 1, 0)])]
    found = inputs(rows)
    found = replace(found, turns=replace(found.turns, graded=np.array([True, True, True])))
    (track,) = heavyskill(found, HeavyskillParams(), {})[0]
    np.testing.assert_allclose(track.advantage, [0, 1, -1], atol=1e-5)


def test_a_sequence_without_a_verdict_counts_nowhere():
    rows = [(0, 1, [("attempt", math.nan, 2, 0), ("attempt", 1.0, 1, 0), ("attempt", 0.0, 1, 0),
                    ("deliberate", 0.0, 1, 1)])]
    _, attempt = tracks(rows, mode="joint")
    assert attempt.counts.tolist() == [False, False, True, True, False]
    np.testing.assert_allclose(attempt.advantage, [0, 0, 1, -1, 0], atol=1e-5)


@pytest.mark.parametrize("rewards", [(1, 1, 1), (0, 0), (1,)])
def test_no_variance_is_exactly_zero(rewards):
    found, _, metrics = heavyskill(inputs(sequences("deliberate", rewards)), HeavyskillParams(), {})
    assert (found[0].advantage == 0).all()
    assert metrics == {"deliberate_groups": 1, "deliberate_zero_variance_groups": 1, "deliberate_reward": rewards[0]}


def test_needs_and_refusals():
    assert HeavyskillParams().needs() == {"turns", "kinds"}
    with pytest.raises(ValueError, match="found vote, expected one of attempt, deliberate"):
        tracks(sequences("vote", (1, 0)))
    bare = AdvantageInputs(np.ones(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.full(1, np.nan))
    with pytest.raises(ValueError, match="turns: found none"):
        heavyskill(bare, HeavyskillParams(), {})


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        turns = [(["attempt", "deliberate"][random.integers(2)],
                  math.nan if random.random() < 0.1 else float(random.integers(2)),
                  int(random.integers(0, 3)), int(random.integers(4))) for _ in range(random.integers(1, 4))]
        rows.append((int(random.integers(3)), float(random.integers(2)), turns))
    return rows


@given(batches(), st.sampled_from(["group", "call"]))
@settings(max_examples=60, deadline=None)
def test_it_agrees_with_the_oracle(rows, key):
    flat = [(turn[3] if key == "call" else group, turn[0],
             turn[1] + (outcome if place == len(turns) - 1 else 0), turn[2])
            for group, outcome, turns in rows for place, turn in enumerate(turns)]
    found = inputs(rows)
    found = replace(found, turns=replace(found.turns, key=found.turns.observation))
    for track in heavyskill(found, HeavyskillParams(mode="joint", group_key=key), {})[0]:
        expected = oracle.advantages(flat, track.name)
        assert track.counts.tolist() == [value is not None for value in expected]
        np.testing.assert_allclose(track.advantage, [value or 0.0 for value in expected], rtol=1e-6, atol=1e-9)


# Cache, filter, metrics.

@pytest.mark.parametrize(("lengths", "budget", "expected"), [
    ([10, 20], 30, [10, 20]), ([10, 20], 29, [10, 19]), ([7, 7, 7], 20, [6, 6, 6]), ([5, 5], 1, [0, 0]), ([], 9, [])])
def test_what_is_left_over_is_not_used(lengths, budget, expected):
    assert deliberation.kept_lengths(lengths, budget) == expected


def test_pruning_keeps_the_end_after_a_mark():
    assert deliberation.prune([[1], [1, 2, 3, 4], [5, 6, 7]], 5, [0]) == [[1], [0, 3, 4], [0, 6, 7]]
    assert deliberation.prune(["abc", "d"], 1, "…") == [["…"], ["…"]]
    assert deliberation.prune([[1, 2], [3]], 3) == [[1, 2], [3]]


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 120))
def test_water_filling_agrees_with_the_oracle(lengths, budget):
    found = deliberation.kept_lengths(lengths, budget)
    assert found == oracle.kept(lengths, budget)
    assert sum(found) <= budget


POOL = [Attempt(0, "a", 9), Attempt(1, "b", 3), Attempt(2, "a", 5), Attempt(3, None, 1), Attempt(4, "b", 4),
        Attempt(5, "a", 5), Attempt(6, "c", 2)]


@pytest.mark.parametrize(("strategy", "expected"), [
    ("max_answer_num", [2, 5, 0, 1, 4]), ("max_diversity", [2, 1, 3, 6, 5]), ("max_length", [0, 2, 5, 4, 1])])
def test_selection(strategy, expected):
    assert [each.id for each in deliberation.select(POOL, 5, strategy)] == expected


def test_clusters_of_equal_size_interleave():
    pool = [Attempt(0, "a", 4), Attempt(1, "b", 3), Attempt(2, "a", 2), Attempt(3, "b", 1)]
    assert [each.id for each in deliberation.select(pool, 3, "max_answer_num")] == [3, 2, 1]


@pytest.mark.parametrize("strategy", ["random", "max_answer_num", "max_diversity", "max_length"])
def test_a_pool_of_k_is_taken_as_it_stands(strategy):
    assert deliberation.select(POOL, len(POOL), strategy) == POOL


def test_random_selection_is_seeded_and_without_replacement():
    first = [deliberation.select(POOL, 3, "random", seed) for seed in range(20)]
    assert first == [deliberation.select(POOL, 3, "random", seed) for seed in range(20)]
    assert all(len({each.id for each in chosen}) == 3 for chosen in first)
    assert len({frozenset(chosen) for chosen in first}) > 1


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(1, 4)), min_size=1, max_size=9),
       st.integers(1, 9))
def test_selection_agrees_with_the_oracle(drawn, k):
    rows = [(place, answer, tokens) for place, (answer, tokens) in enumerate(drawn)]
    pool = [Attempt(*row) for row in rows]
    if k < len(pool):
        assert [each.id for each in deliberation.select(pool, k, "max_answer_num")] == oracle.consensus(rows, k)
        assert [each.id for each in deliberation.select(pool, k, "max_diversity")] == oracle.diverse(rows, k)


MIXED, WRONG, RIGHT = [True, False], [False, False], [True, True]


@pytest.mark.parametrize(("queries", "size", "expected"), [
    ([MIXED] * 10 + [WRONG] * 10, 10, [0, 1, 2, 3, 4, 5, 6, 7, 10, 11]),
    ([MIXED] * 10 + [WRONG] * 10, 8, [0, 1, 2, 3, 4, 5, 10, 11]),
    ([MIXED] * 3 + [WRONG] * 10, 5, [0, 1, 2, 3, 4]),
    ([MIXED] + [WRONG] * 10, 5, [0, 1, 2, 3, 4]),
    ([WRONG] + [MIXED] * 10, 10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ([RIGHT, MIXED, [], RIGHT, WRONG], 5, [1, 4]),
    ([RIGHT, []], 4, []),
])
def test_four_fifths_are_mixed_and_a_fifth_all_wrong(queries, size, expected):
    assert heavy.chosen_queries(queries, size) == expected


def test_the_share_of_wrong_queries_is_rounded_half_up():
    assert heavy.chosen_queries([MIXED] * 9 + [WRONG] * 9, 2, 0.25) == [0, 9]
    assert heavy.chosen_queries([MIXED] * 9 + [WRONG] * 9, 2) == [0, 1]


@pytest.mark.parametrize(("answers", "correct", "expected"), [
    (["a", "a", "b"], [True, True, False], 1), (["a", "b"], [True, False], 0.5), ([None, None, "b"], [0, 0, 1], 1),
    ([None, None], [False, False], 0), ([], [], 0), (["a", "b", "c", "c"], [True, False, False, False], 0)])
def test_vote(answers, correct, expected):
    assert vote(answers, correct) == expected


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=9))
def test_vote_agrees_with_the_oracle(answers):
    found = vote(answers, [answer == "a" for answer in answers])
    assert found == pytest.approx(oracle.vote(answers, "a"))


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 8))
def test_pass_at_agrees_with_the_oracle(correct, k):
    if k <= len(correct):
        assert heavy.pass_at(len(correct), sum(correct), k) == pytest.approx(oracle.pass_at(correct, k))


def test_the_width_reward_is_off_by_default():
    assert heavy.width_reward(1, 0.75, 0.5) == 1
    assert heavy.width_reward(1, 0.75, 0.5, bonus=0.4) == pytest.approx(1.1)


def test_nothing_is_correct_of_nothing():
    assert heavy.mean_correct([]) == heavy.any_correct([]) == 0
