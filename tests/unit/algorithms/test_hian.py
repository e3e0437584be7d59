"""HIAN against the numbers of duca.md, the oracle, and its exact properties."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.advantages.hian import HianParams, hian, turn_returns, turn_weight
from hone.algorithms.advantages.statistics import group_z_score, z_score
from hone.algorithms.inputs import AdvantageInputs
from hone.trajectory.turns import Turns
from tests.oracles import hian as oracle

EXAMPLE: list[Any] = [(0, 10, [0, -1, 0]), (0, 0, [0, 0]), (0, 10, [-1, -1, 0]), (0, 0, [0, -1])]


def inputs(sessions, step=0, steps=1):
    """Sessions of (group, outcome, turn rewards), a token each; or turns of (reward, tokens)."""
    rows = [(group, outcome, [turn if isinstance(turn, tuple) else (turn, 1) for turn in turns])
            for group, outcome, turns in sessions]
    flat = [(place, *turn) for place, (_, _, turns) in enumerate(rows) for turn in turns]
    turns = Turns(
        np.array([turn[0] for turn in flat], np.int64), np.array([turn[2] for turn in flat], np.int64),
        np.array([turn[1] for turn in flat], np.float64), np.arange(len(flat)), ("say",) * len(flat))
    return AdvantageInputs(
        np.array([row[1] for row in rows], np.float64), np.array([row[0] for row in rows], np.int64),
        np.array([sum(turn[1] for turn in row[2]) for row in rows], np.int64), np.full(len(rows), np.nan),
        turns=turns, step=step, steps=steps)


def advantage(sessions, **params):
    return hian(inputs(sessions), HianParams(**params), {})[0]


def changed(outcome=lambda r: r, turn=lambda r: r):
    return [(group, outcome(total), [turn(each) for each in turns]) for group, total, turns in EXAMPLE]


# Numbers of duca.md (a) 1 and 2.

def test_a1_session_and_turn_terms():
    np.testing.assert_allclose(advantage(EXAMPLE, w_turn=0), [1, 1, 1, -1, -1, 1, 1, 1, -1, -1], atol=1e-6)
    expected = [0.816495 if each == 0 else -1.224742 for _, _, turns in EXAMPLE for each in turns]
    np.testing.assert_allclose(advantage(EXAMPLE, w_sess=0), expected, atol=1.5e-6)


def test_a1_fused():
    expected = [1.816495, -0.224743, 1.816495, -0.183505, -0.183505, -0.224743, -0.224743, 1.816495,
                -0.183505, -2.224742]
    np.testing.assert_allclose(advantage(EXAMPLE), expected, atol=1.5e-6)


@pytest.mark.parametrize(("scale", "expected"), [
    (1, [1.104315, -0.883452, 0.883452, -1.104315]), (1000, [1.0001, -0.9999, 0.9999, -1.0001])])
def test_a2_one_summed_reward_loses_the_turn_signal(scale, expected):
    summed = np.array([scale * outcome + sum(turns) for _, outcome, turns in EXAMPLE], np.float64)
    one = AdvantageInputs(summed, np.zeros(4, np.int64), np.ones(4, np.int64), np.full(4, np.nan))
    np.testing.assert_allclose(grpo(one, GrpoParams(std_ddof=0), {})[0], expected, atol=1.5e-6)


def test_a2_a_thousandfold_outcome_changes_nothing():
    np.testing.assert_allclose(advantage(changed(lambda r: 1000 * r)), advantage(EXAMPLE), atol=1e-6)


# Properties (a) 3 to 7.

@pytest.mark.parametrize(("sessions", "gamma"), [
    (changed(lambda r: 3 * r + 7), 0.9), (changed(turn=lambda r: 5 * r), 0.9), (changed(turn=lambda r: 5 * r - 2), 0)])
def test_a3_invariant_to_scale_and_shift(sessions, gamma):
    plain, moved = (advantage(each, gamma_turn=gamma, eps=1e-12) for each in (EXAMPLE, sessions))
    np.testing.assert_allclose(moved, plain, atol=1e-9)


def test_a3_a_shift_of_turn_rewards_matters_with_a_discount():
    moved = advantage(changed(turn=lambda r: r - 2), gamma_turn=0.9)
    assert abs(moved - advantage(EXAMPLE, gamma_turn=0.9)).max() > 0.01


def test_a4_without_turn_term_it_is_grpo_with_population_deviation():
    given_inputs = inputs(EXAMPLE)
    expected = grpo(given_inputs, GrpoParams(std_ddof=0), {})[0]
    assert advantage(EXAMPLE, w_turn=0).tolist() == expected.tolist()


def test_a4_without_session_term_batch_statistics_whiten_all_turns():
    sessions = [*EXAMPLE, (1, 3, [-2, 0.5])]
    rewards = np.array([each for _, _, turns in sessions for each in turns], np.float64)
    expected = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    np.testing.assert_allclose(advantage(sessions, w_sess=0, turn_statistics="batch"), expected, atol=1e-12)


@pytest.mark.parametrize("statistics", ["group", "batch"])
def test_a5_turn_terms_and_session_terms_average_to_zero(statistics):
    sessions = [*EXAMPLE, (1, 1, [0, -3, 1]), (1, 0, [-1])]
    turns = advantage(sessions, w_sess=0, turn_statistics=statistics)
    sums = [turns.mean()] if statistics == "batch" else [turns[:10].mean(), turns[10:].mean()]
    np.testing.assert_allclose(sums, 0, atol=1e-12)
    assert group_z_score(inputs(EXAMPLE).reward, np.zeros(4, np.int64), 0, 1e-6).sum() == pytest.approx(0, abs=1e-12)


def test_a6_every_token_of_a_turn_has_the_same_value():
    longer = [(group, outcome, [(each, 3) for each in turns]) for group, outcome, turns in EXAMPLE]
    assert advantage(longer).tolist() == np.repeat(advantage(EXAMPLE), 3).tolist()


def test_a7_the_order_of_sessions_only_orders_the_result():
    plain = np.split(advantage(EXAMPLE), [3, 5, 8])
    order = [2, 0, 3, 1]
    shuffled = advantage([EXAMPLE[place] for place in order])
    np.testing.assert_allclose(shuffled, np.concatenate([plain[place] for place in order]), atol=1e-12)


def test_a7_turns_without_tokens_change_nothing():
    padded = [(group, outcome, [*[(each, 1) for each in turns], (99.0, 0)]) for group, outcome, turns in EXAMPLE]
    for statistics in ("group", "per_position", "batch"):
        plain = advantage(EXAMPLE, turn_statistics=statistics)
        assert advantage(padded, turn_statistics=statistics).tolist() == plain.tolist()


# Edge cases.

def test_all_sessions_alike_leave_the_turn_term_alone():
    alike = [(0, 1, turns) for _, _, turns in EXAMPLE]
    assert advantage(alike).tolist() == advantage(EXAMPLE, w_sess=0).tolist()


def test_all_turns_alike_leave_the_session_term_alone():
    assert advantage(changed(turn=lambda r: 0 * r - 1)).tolist() == advantage(EXAMPLE, w_turn=0).tolist()


@pytest.mark.parametrize("statistics", ["group", "per_position", "batch"])
def test_a_session_without_siblings_uses_the_batch_for_its_turns_only(statistics):
    sessions = [(0, 5, [0, -1]), (1, 0, [0]), (1, 1, [-1, 1])]
    lone = advantage(sessions, turn_statistics=statistics)[:2]
    rewards = np.array([0, -1, 0, -1, 1.0])
    expected = (rewards[:2] - rewards.mean()) / (rewards.std() + 1e-6)
    np.testing.assert_allclose(lone, expected, atol=1e-12)


def test_positions_with_fewer_than_four_turns_use_the_group():
    sessions = [(0, 0, [reward, 5 * reward]) for reward in (0, 1, 2)] + [(0, 0, [3])]
    values = advantage(sessions, turn_statistics="per_position", w_sess=0)
    first, everything = np.array([0, 1, 2, 3.0]), np.array([0, 0, 1, 5, 2, 10, 3.0])
    np.testing.assert_allclose(values[[0, 2, 4, 6]], (first - 1.5) / (first.std() + 1e-6), atol=1e-12)
    np.testing.assert_allclose(
        values[[1, 3, 5]], (everything[[1, 3, 5]] - everything.mean()) / (everything.std() + 1e-6), atol=1e-12)


def test_a_masked_turn_still_counts_in_earlier_returns_and_takes_a_discount_step():
    given_turns = inputs([(0, 0, [(1.0, 2), (8.0, 0), (4.0, 1)]), (0, 0, [(2.0, 1)])]).turns
    assert turn_returns(given_turns, 0.5).tolist() == [6.0, 10.0, 4.0, 2.0]


def test_values_that_are_no_numbers_are_left_out():
    assert z_score(np.array([np.nan, 1, 3]), 0, 1e-300).tolist() == [0, -1, 1]
    assert z_score(np.array([np.nan, np.nan]), 0, 1e-6).tolist() == [0, 0]


def test_without_turns_it_says_what_is_missing():
    bare = AdvantageInputs(np.ones(1), np.zeros(1, np.int64), np.ones(1, np.int64), np.full(1, np.nan))
    with pytest.raises(ValueError, match="turns: found none"):
        hian(bare, HianParams(), {})


def test_it_reads_turns_that_rules_grade():
    assert HianParams().needs() == HianParams(per_rule=True).needs() == {"turns", "rules"}


# Each rule by itself.

RULES: dict[str, list[float]] = {
    "repetition": [0, -1, 0, 0, 0, -1, -1, 0, 0, -1], "length": [0, 0, 0, 0, -1, 0, 0, 0, 0, 0], "compliance": [0] * 10}


def ruled(rules, sessions=EXAMPLE, **params):
    given_inputs = inputs(sessions)
    arrays = {name: np.array(scores, np.float64) for name, scores in rules.items()}
    turns = dataclasses.replace(given_inputs.turns, rules=arrays)
    return hian(dataclasses.replace(given_inputs, turns=turns), HianParams(per_rule=True, **params), {})[0]


def test_rules_are_normalised_apart_and_averaged_by_weight():
    """The first rule is that of example 1; one turn of ten scores -0.9 / 0.3 = -3; a rule that never fires counts."""
    values = ruled(RULES, w_sess=0, rule_weights={"repetition": 2})
    repeats = np.where(np.array(RULES["repetition"]) == 0, 0.816495, -1.224742)
    lengths = np.where(np.array(RULES["length"]) == 0, 1 / 3, -3)
    np.testing.assert_allclose(values, (2 * repeats + lengths + 0) / 4, atol=1e-5)


def test_one_rule_alone_is_the_turns_reward():
    alone = ruled({"repetition": RULES["repetition"]}, rule_weights={"repetition": 7})
    np.testing.assert_allclose(alone, advantage(EXAMPLE), rtol=1e-12)


def test_no_rules_scale_matters_to_another():
    scaled = {**RULES, "length": [100 * each for each in RULES["length"]]}
    np.testing.assert_allclose(ruled(scaled, eps=1e-12), ruled(RULES, eps=1e-12), atol=1e-9)


def test_rules_without_weight_leave_the_session_alone():
    weights = dict.fromkeys(RULES, 0)
    assert ruled(RULES, rule_weights=weights).tolist() == advantage(EXAMPLE, w_turn=0).tolist()


@pytest.mark.parametrize("statistics", ["group", "per_position", "batch"])
def test_rules_agree_with_the_oracle(statistics):
    sessions = [*EXAMPLE, (1, 2, [0, 0, 0]), (2, 1, [0, 0]), (2, 3, [0])]
    random = np.random.default_rng(5)
    rules = {name: np.round(random.normal(size=16), 1) for name in ("a", "b")}
    rows = {name: np.split(scores, np.cumsum([len(turns) for _, _, turns in sessions])[:-1])
            for name, scores in rules.items()}
    apart = {}
    for name in rules:
        reported = [(group, 0, [(score, 1) for score in row])
                for (group, _, _), row in zip(sessions, rows[name], strict=True)]
        apart[name] = np.array(oracle.hian(reported, 0, 1, 0.5, statistics))
    values = ruled(rules, sessions, w_sess=0, gamma_turn=0.5, turn_statistics=statistics, rule_weights={"b": 3})
    np.testing.assert_allclose(values, (apart["a"] + 3 * apart["b"]) / 4, atol=1e-9)


def test_rules_that_are_missing_or_weigh_less_than_nothing_are_refused():
    with pytest.raises(ValueError, match=r"turns\.rules: found none"):
        ruled({})
    with pytest.raises(ValidationError, match="rule_weights"):
        HianParams(rule_weights={"length": -1})


# Schedule and metrics.

@pytest.mark.parametrize(("step", "expected"), [(0, 0.1), (50, 0.55), (100, 1.0), (150, 1.0), (199, 1.0)])
def test_the_ramp_reaches_the_weight_after_half_of_the_steps(step, expected):
    params = HianParams(w_turn_schedule="linear")
    assert turn_weight(params, step, 200) == pytest.approx(expected)
    assert turn_weight(params, step, 200) == pytest.approx(oracle.ramp(step, 200))
    assert turn_weight(HianParams(), step, 200) == 1.0


def test_the_ramp_reaches_the_advantage():
    values, _, metrics = hian(inputs(EXAMPLE, step=25, steps=100), HianParams(w_turn_schedule="linear"), {})
    np.testing.assert_allclose(values, advantage(EXAMPLE, w_turn=0.55), atol=1e-12)
    assert metrics["w_turn"] == pytest.approx(0.55)


def test_a_ramp_over_no_step_is_refused():
    with pytest.raises(ValidationError):
        HianParams(ramp_fraction=0)


def test_metrics_of_both_terms():
    _, _, metrics = hian(inputs(EXAMPLE), HianParams(w_sess=2), {})
    assert metrics["session_abs"] == pytest.approx(2.0, abs=1e-5)
    assert metrics["turn_abs"] == pytest.approx(0.6 * 0.816495 + 0.4 * 1.224742, abs=1e-5)
    assert metrics["outcome"] == 5.0
    assert metrics["turn_reward"] == pytest.approx(-0.4)
    assert not any(name.startswith("rule/") for name in metrics)


@pytest.mark.parametrize("per_rule", [False, True])
def test_metrics_of_each_rule(per_rule):
    given_inputs = inputs(EXAMPLE)
    turns = dataclasses.replace(given_inputs.turns, rules={name: np.array(each) for name, each in RULES.items()})
    _, _, metrics = hian(dataclasses.replace(given_inputs, turns=turns), HianParams(per_rule=per_rule), {})
    found = {name: value for name, value in metrics.items() if name.startswith("rule/")}
    assert found == pytest.approx({"rule/repetition": -0.4, "rule/length": -0.1, "rule/compliance": 0.0})


@pytest.mark.parametrize(("outcome", "turn", "alarm"), [(3.9, 0, 1), (4.1, 0, 0), (3.9, -1, 0), (3.9, -0.4, 0)])
def test_the_alarm_rings_when_the_outcome_pays_for_the_turns(outcome, turn, alarm):
    _, first, before = hian(inputs(EXAMPLE), HianParams(), {})
    later = [(0, outcome, [turn]), (0, outcome, [turn])]
    _, after, metrics = hian(inputs(later), HianParams(), first)
    assert before["conversion_alarm"] == 0
    assert metrics["conversion_alarm"] == alarm
    assert after == first


# Oracle.

@st.composite
def batches(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    digits = draw(st.sampled_from([0, 6]))
    sessions = []
    for group in range(draw(st.integers(1, 4))):
        for _ in range(random.integers(1, 7)):
            turns = [(float(np.round(random.normal(), digits)), int(random.integers(0, 3)))
                     for _ in range(random.integers(1, 5))]
            turns[random.integers(len(turns))] = (0.5, 2)
            sessions.append((group, float(np.round(random.normal(), digits)), turns))
    return [sessions[place] for place in random.permutation(len(sessions))]


@given(batches(), st.sampled_from(["group", "per_position", "batch"]), st.sampled_from([0.0, 0.8, 1.0]))
@settings(max_examples=80, deadline=None)
def test_it_agrees_with_the_oracle(sessions, statistics, gamma):
    by_turn = oracle.hian(sessions, 0.7, 1.3, gamma, statistics)
    lengths = [tokens for _, _, turns in sessions for _, tokens in turns if tokens]
    values = advantage(sessions, w_sess=0.7, w_turn=1.3, gamma_turn=gamma, turn_statistics=statistics)
    np.testing.assert_allclose(values, np.repeat(by_turn, lengths), rtol=1e-6, atol=1e-7)
