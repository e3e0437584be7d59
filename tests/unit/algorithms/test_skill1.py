"""Skill1 against the numbers of skill1.md, the oracle, and its exact properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.advantages.skill1 import Skill1Params, skill1
from hone.algorithms.inputs import AdvantageInputs
from hone.graders import skill_credit as credit
from hone.harnesses import skill_utility as library
from hone.trajectory.turns import Turns
from tests.oracles import skill1 as oracle

STAGES = [("query", 1), ("rerank", 2), ("play", 2), ("play", 1), ("distill", 3)]


def inputs(rows):
    """Rows of (group, outcome, r_rank, r_dist, turns of (kind, tokens))."""
    flat = [(place, *turn) for place, row in enumerate(rows) for turn in row[4]]
    turns = Turns(
        np.array([turn[0] for turn in flat], np.int64), np.array([turn[2] for turn in flat], np.int64),
        np.zeros(len(flat)), np.arange(len(flat)), tuple(turn[1] for turn in flat))
    group, outcome, rank, dist = (np.array([row[column] for row in rows], np.float64) for column in range(4))
    return AdvantageInputs(
        outcome, group.astype(np.int64), np.array([sum(turn[1] for turn in row[4]) for row in rows], np.int64),
        np.full(len(rows), np.nan), components={"r_rank": rank, "r_dist": dist}, turns=turns)


def tracks(rows, state=None, **params):
    return skill1(inputs(rows), Skill1Params(**params), state or {})[0]


EXAMPLE = [(0, r, rank, dist, STAGES) for r, rank, dist in [
    (1, 1.0, 0.2), (1, 0.908906, 0.2), (0, 0.753181, -0.8), (1, 0.0, 0.5)]]

# Numbers and properties of skill1.md (a).


@pytest.mark.parametrize(("named", "expected"), [([2, 1, 3], 1.0), ([1, 2, 3], 0.908906), ([3, 1, 2], 0.753181)])
def test_a1_ndcg(named, expected):
    utilities = [0.5, 0.8, 0.2]
    assert credit.ndcg(library.completed_order(named, 3), utilities) == pytest.approx(expected, abs=1e-6)


def test_a2_utility_after_outcomes():
    utility, seen = 0.5, []
    for outcome in (1, 1, 0):
        utility = library.updated_utility(utility, outcome)
        seen.append(utility)
    assert seen == pytest.approx([0.525, 0.54875, 0.5213125], abs=1e-12)


@pytest.mark.parametrize(("successes", "expected"), [(10, 0.700632), (20, 0.820757), (50, 0.961528)])
def test_a2_utility_after_many_successes(successes, expected):
    utility = 0.5
    for _ in range(successes):
        utility = library.updated_utility(utility, 1)
    assert utility == pytest.approx(expected, abs=1e-6)
    assert utility == pytest.approx(1 - 0.5 * 0.95 ** successes)


def test_a3_distillation():
    rewards = [credit.distillation_reward(r, [0.1, best]) for r, best in [(1, 0.8), (1, 0.8), (0, 0.8), (1, 0.5)]]
    assert rewards == pytest.approx([0.2, 0.2, -0.8, 0.5])
    rows = [(0, 1, 0, reward, [("distill", 1)]) for reward in rewards]
    np.testing.assert_allclose(
        tracks(rows)[2].advantage, [0.355829, 0.355829, -1.677481, 0.965822], atol=1.5e-6)


@pytest.mark.parametrize(("utility", "uses", "expected"), [(0.9, 1, 0.9), (0.5, 9, 1.660964), (0.3, 30, 1.486259)])
def test_a4_retirement_scores(utility, uses, expected):
    assert library.retirement_score(utility, uses) == pytest.approx(expected, abs=1e-6)


def test_a5_training_explores_and_evaluation_exploits():
    training = [library.ucb_score(0.7, 0.5, 1, 10, w=0.6), library.ucb_score(0.6, 0.9, 9, 10, w=0.6)]
    greedy = [library.greedy_score(0.7, 0.5, w=0.6), library.greedy_score(0.6, 0.9, w=0.6)]
    assert training == pytest.approx([1.226971, 0.922324], abs=1e-6)
    assert greedy == pytest.approx([0.62, 0.72])


def test_a6_without_other_stages_it_is_grpo():
    stages = [("query", 2), ("play", 3)]
    rows = [(group, r, math.nan, math.nan, stages) for group, r in [(0, 1), (0, 0), (0, 0), (1, 1)]]
    util, *others = tracks(rows, selection_weight=0, distillation_weight=0)
    assert util.advantage.tolist() == grpo(inputs(rows), GrpoParams(std_ddof=0), {})[0].tolist()
    assert util.counts.all()
    assert [track.weight for track in others] == [0, 0]
    assert not any(track.counts.any() for track in others)


def test_a6_skills_updated_together_keep_one_utility():
    one = other = 0.5
    for outcome in (1, 0, 0, 1, 1):
        one, other = (library.updated_utility(utility, outcome) for utility in (one, other))
        assert one == other


# The tracks.

def test_each_stage_has_its_tokens_weight_and_loss():
    found = tracks(EXAMPLE)
    assert [(track.name, track.weight, track.loss) for track in found] == [
        ("utilisation", 1.0, "policy"), ("selection", 0.3, "reinforce"), ("distillation", 0.3, "policy")]
    expected = [[1, 0, 0, 1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1, 1]]
    for track, counts in zip(found, expected, strict=True):
        assert track.counts.tolist() == counts * 4
        assert (track.advantage[~track.counts] == 0).all()


def test_selection_weighs_with_the_raw_ndcg():
    assert tracks(EXAMPLE)[1].advantage[[1, 10, 19, 28]].tolist() == [1.0, 0.908906, 0.753181, 0.0]


def test_ema_baseline_starts_at_the_first_mean_and_is_used_before_it_moves():
    params = Skill1Params(baseline="ema")
    first, state, metrics = skill1(inputs(EXAMPLE), params, {})
    mean = (1.0 + 0.908906 + 0.753181) / 4
    assert metrics["rank_baseline"] == pytest.approx(mean)
    assert first[1].advantage[1] == pytest.approx(1 - mean)
    assert state["rank_baseline"] == pytest.approx(mean)
    later = [(0, 1, 0.5, 0, STAGES), (0, 1, math.nan, 0, STAGES[:1])]
    second, state, _ = skill1(inputs(later), params, state)
    assert second[1].advantage[1] == pytest.approx(0.5 - mean)
    assert state["rank_baseline"] == pytest.approx(0.95 * mean + 0.05 * 0.5)


def test_ema_baseline_stays_where_nothing_was_reranked():
    rows = [(0, 1, math.nan, 0, [("play", 1)]), (0, 1, 0.7, 0, [("rerank", 0), ("play", 1)])]
    _, state, metrics = skill1(inputs(rows), Skill1Params(baseline="ema"), {"rank_baseline": 0.4})
    assert state == {"rank_baseline": 0.4}
    assert metrics["ndcg"] == 0


def test_equal_outcomes_leave_only_the_distillation():
    rows = [(0, 1, 1, dist, STAGES) for dist in (0.2, 0.5)]
    util, _, dist = tracks(rows)
    assert (util.advantage == 0).all()
    assert (dist.advantage[dist.counts] != 0).all()


def test_an_unparsable_distillation_stays_in_the_group_statistics():
    rewards = [0.5, 0.0, 0.25]
    rows = [(0, 1, 1, reward, [("distill", 1)]) for reward in rewards]
    expected = (np.array(rewards) - 0.25) / (np.std(rewards) + 1e-6)
    np.testing.assert_allclose(tracks(rows)[2].advantage, expected, atol=1e-12)


def test_perfect_ranks_are_counted():
    _, _, metrics = skill1(inputs(EXAMPLE), Skill1Params(), {})
    assert metrics["perfect_ranks"] == 1
    assert metrics["ndcg"] == pytest.approx((1.0 + 0.908906 + 0.753181) / 4)


def test_needs_and_refusals():
    assert Skill1Params().needs() == {"turns", "components", "kinds"}
    with pytest.raises(ValueError, match="found dream, expected one of query"):
        tracks([(0, 1, 1, 1, [("dream", 1)])])
    bare = AdvantageInputs(np.ones(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.full(1, np.nan))
    with pytest.raises(ValueError, match="turns: found none"):
        skill1(bare, Skill1Params(), {})


# Credits.

@pytest.mark.parametrize(("named", "expected"), [
    ([2], [1, 0, 2]), ([3, 3, 9, 1], [2, 0, 1]), ([0, -1, 4], None), ([], None), ([1, 2, 3], [0, 1, 2])])
def test_an_order_is_completed_in_retrieval_order(named, expected):
    assert library.completed_order(named, 3) == expected


@pytest.mark.parametrize(("order", "utilities"), [(None, [0.5, 0.8]), ([0], [0.5]), ([], []), ([0, 1], [0, 1e-9])])
def test_no_ndcg_without_a_choice(order, utilities):
    assert credit.ndcg(order, utilities) == 0


def test_equal_utilities_make_every_order_right():
    assert credit.ndcg([2, 0, 1], [0.5, 0.5, 0.5]) == 1


def test_without_a_candidate_the_distillation_reward_is_the_outcome():
    assert credit.distillation_reward(1, []) == 1


def test_invalid_actions_are_taken_off_the_utilisation_reward():
    assert credit.utilisation_reward(1, invalid=2, plays=4, penalty=0.1) == pytest.approx(0.95)
    assert credit.utilisation_reward(0, invalid=0, plays=0, penalty=0.1) == 0


def test_the_worst_skills_retire_and_the_older_of_equals_stays():
    skills = [library.SkillRecord(4, 0.9, 1), library.SkillRecord(3, 0.5, 9), library.SkillRecord(2, 0.9, 1),
              library.SkillRecord(1, 0.3, 30)]
    assert library.retained(skills, 3) == [3, 1, 2]
    assert library.retained(skills) == [3, 1, 2, 4]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4).flatmap(
    lambda utilities: st.tuples(st.just(utilities), st.permutations(range(len(utilities))))))
def test_ndcg_agrees_with_the_oracle(drawn):
    utilities, order = drawn
    found = credit.ndcg(order, utilities)
    assert found == pytest.approx(oracle.ndcg(order, utilities))
    assert 0 <= found <= 1 + 1e-12


@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = []
    for _ in range(draw(st.integers(1, 10))):
        turns = [(kind, int(random.integers(0, 3))) for kind, _ in STAGES if random.random() < 0.8]
        rank, dist = (math.nan if random.random() < 0.3 else float(random.random()) for _ in range(2))
        rows.append((int(random.integers(3)), float(random.integers(2)), rank, dist, [*turns, ("play", 1)]))
    return rows


@given(batches(), st.sampled_from([None, 0.3]), st.sampled_from(["none", "ema"]))
@settings(max_examples=60, deadline=None)
def test_it_agrees_with_the_oracle(rows, before, kind):
    state = {} if before is None else {"rank_baseline": before}
    baseline = (oracle.rank_mean(rows) if before is None else before) if kind == "ema" else 0
    expected = oracle.skill1(rows, baseline)
    for track in tracks(rows, state, baseline=kind):
        assert track.counts.tolist() == [name == track.name for name, _ in expected]
        np.testing.assert_allclose(
            track.advantage[track.counts], [value for name, value in expected if name == track.name],
            rtol=1e-6, atol=1e-9)
