"""The turn rules and the metrics of duca.md."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.environments import turn_rules as rules
from tests.oracles import hian as oracle

SESSIONS = st.lists(st.lists(st.integers(0, 2), max_size=12), max_size=5)


@pytest.mark.parametrize(("turns", "expected"), [
    ([[1, 2, 3, 4, 5]], [0]),
    ([[1, 2, 3, 4], [1, 2, 3, 4]], [0, -1]),
    ([[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 3, 4]], [0, 0, -1]),
    ([[1, 2, 3], [1, 2, 3]], [0, 0]),
    ([[1, 2, 3, 4, 5], [1, 2, 3, 4, 9]], [0, -(1 / 3 - 0.3) / 0.7]),
    ([[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 9, 9]], [0, 0]),
    (["你好世界", "你好世界"], [0, -1]),
    ([], []),
])
def test_repetition(turns, expected):
    assert rules.repetition(turns) == pytest.approx(expected)


@given(SESSIONS)
def test_repetition_agrees_with_the_oracle(turns):
    expected = [oracle.jaccard_penalty(turn, turns[:t]) for t, turn in enumerate(turns)]
    assert rules.repetition(turns) == pytest.approx(expected)


@pytest.mark.parametrize(("text", "flagged", "expected"), [
    ("Hello, this is Anna.", False, 0), ("Hello, this is Anna.", True, -1), ("I am an AI model", False, -1),
    ("Well, I'm just a language model.", False, -1), ("As an AI, I cannot call you.", False, -1),
    ("I am about to call you", False, 0),
])
def test_identity_leak(text, flagged, expected):
    assert rules.identity_leak(text, flagged) == expected


def test_identity_leak_reads_the_jobs_patterns():
    assert rules.identity_leak("我是机器人", False) == 0
    assert rules.identity_leak("我是机器人", False, ["机器人"]) == -1


@pytest.mark.parametrize(("text", "judged", "expected"), [
    ("Calls are recorded. A fair price.", 0, 0), ("A fair price.", 0, -1), ("Guaranteed profit!", 0, -2),
    ("Guaranteed profit, no risk!", 0, -3), ("Calls are recorded.", 2, -2),
])
def test_compliance_counts_claims_missing_notices_and_the_judges_breaches(text, judged, expected):
    assert rules.compliance(text, ["guaranteed", "no risk"], ["recorded"], judged) == expected


@pytest.mark.parametrize(("tokens", "expected"), [(0, -1), (1, 0), (256, 0), (257, -1)])
def test_length(tokens, expected):
    assert rules.length(tokens) == expected


def test_turn_rewards_are_the_weighted_sum_of_the_rules():
    assert rules.turn_rewards({"a": [0, -1], "b": [-1, -1]}, {"a": 1, "b": 0.5}) == [-0.5, -1.5]


def test_turn_rewards_refuse_ragged_scores_and_a_rule_without_weight():
    with pytest.raises(ValueError, match="shorter"):
        rules.turn_rewards({"a": [0, -1], "b": [0]}, {"a": 1, "b": 1})
    with pytest.raises(KeyError):
        rules.turn_rewards({"a": [0]}, {})


def test_conversion_and_identity_rates():
    assert rules.conversion_rate([True, False, False, True]) == 0.5
    assert rules.identity_rate([[False, True, True], [False], []]) == pytest.approx(1 / 3)
    assert rules.conversion_rate([]) == rules.identity_rate([]) == 0


@pytest.mark.parametrize(("sessions", "expected"), [
    ([[[1, 2, 3, 4], [1, 2, 3, 4]]], 1),
    ([[[1, 2, 3, 4], [1, 2, 3, 4, 5]]], 0.5),
    ([[[1, 1, 1, 1, 1, 1]]], 0),
    ([[[1, 2, 3, 4], [1, 2, 3, 4]], [[1, 2, 3, 4], [5, 6, 7, 8]]], 0.5),
    ([], 0),
])
def test_repetition_rate(sessions, expected):
    assert rules.repetition_rate(sessions) == expected


@given(st.lists(SESSIONS, min_size=1, max_size=3))
def test_repetition_rate_agrees_with_the_oracle(sessions):
    expected = np.mean([oracle.repeated_share(turns) for turns in sessions])
    assert rules.repetition_rate(sessions) == pytest.approx(expected)
