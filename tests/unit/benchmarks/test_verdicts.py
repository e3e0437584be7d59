"""Verdicts, their reward and the vote against worked numbers, the oracle and exact properties."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.methods.verdicts import (
    VerdictInputs,
    VerdictRewardParams,
    verdict_reward,
    vote,
    vote_scores,
)
from hone.algorithms.catalogue import ADVANTAGES
from hone.algorithms.inputs import AdvantageInputs
from hone.algorithms.method import Method
from tests.oracles import self_verify as oracle

REWARD: Method[Any, Any] = Method(verdict_reward, VerdictRewardParams)
SELF_VERIFY_ONLY = {"weight": 1.0}


def rewarded(texts, labels, rhos, lengths=None, **params):
    given = VerdictInputs(texts, labels, rhos, [1] * len(texts) if lengths is None else lengths)
    rewards, _, metrics = REWARD(given, params, {})
    return rewards, metrics


def box(text):
    return rf"So \boxed{{{text}}}"


@pytest.mark.parametrize(("text", "label", "rho", "expected"), [
    (box("Yes"), "Yes", 0.25, 0.25), (box("No"), "No", 0.5, 0.5), (box("Yes"), "Yes", 0.875, 0.5),
    (box("Yes"), "No", 0.25, 0), (box("No"), "Yes", 1.0, 0), ("Yes", "Yes", 1.0, 0), (None, "Yes", 1.0, None),
])
def test_reward_of_a_verdict(text, label, rho, expected):
    assert rewarded([text], [label], [rho])[0] == [expected]


@pytest.mark.parametrize(("length", "penalty"), [(1, 0), (9728, 0), (10000, -0.53125), (10240, -1)])
def test_worked_example_3(length, penalty):
    assert rewarded(["?"], ["Yes"], [1.0], [length], **SELF_VERIFY_ONLY)[0] == [penalty]
    assert rewarded([box("Yes")], ["Yes"], [0.25], [length], **SELF_VERIFY_ONLY)[0] == [0.25 + penalty]
    assert rewarded([box("Yes")], ["Yes"], [0.25], [length])[0] == [0.25]


def test_metrics_of_verdicts():
    texts = [box("Yes"), box("Yes"), box("No"), "?", None]
    metrics = rewarded(texts, ["Yes", "No", "No", "Yes", "Yes"], [0.5] * 5, [10000, 1, 1, 1, 1], weight=1.0)[1]
    assert metrics == {
        "verdict_accuracy": 0.5, "unparsable_verdicts": 0.25, "overlong_samples": 1, "rejected_rewards": 0}
    assert rewarded([], [], [])[1]["verdict_accuracy"] == 0


def test_lists_of_different_length_are_refused():
    with pytest.raises(ValueError, match="zip"):
        rewarded([box("Yes")], [], [0.5])


@given(st.lists(st.tuples(st.sampled_from([box("Yes"), box("No"), "?"]), st.sampled_from(["Yes", "No"]),
                          st.floats(0, 1), st.integers(1, 10240)), max_size=8), st.sampled_from([0.0, 1.0, 0.3]))
@settings(max_examples=60, deadline=None)
def test_rewards_agree_with_the_oracle(rows, weight):
    texts, labels, rhos, lengths = zip(*rows, strict=True) if rows else ([], [], [], [])
    expected = [oracle.reward(text == box(label), rho, length, factor=weight) for text, label, rho, length in rows]
    assert rewarded(texts, labels, rhos, lengths, weight=weight)[0] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def advantage(name, rewards):
    rewards = np.array(rewards, np.float64)
    given = AdvantageInputs(
        rewards, np.zeros(len(rewards), np.int64), np.ones(len(rewards), np.int64), np.full(len(rewards), np.nan))
    return ADVANTAGES[name](given, {}, {})[0]


RIGHT = [1, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("rho", [1.0, 0.5, 0.125])
def test_worked_example_2(rho):
    texts = [box("Yes") if right else box("No") for right in RIGHT]
    rewards, _ = rewarded(texts, ["Yes"] * 8, [rho] * 8, cap=1.0)
    assert rewards == [right * rho for right in RIGHT]
    values = advantage("grpo", rewards)
    np.testing.assert_allclose(values, [1.6202 if right else -0.5401 for right in RIGHT], atol=5.1e-5)
    np.testing.assert_allclose(values, oracle.standardised(rewards), rtol=1e-9)
    np.testing.assert_allclose(
        advantage("dr_grpo", rewards), [rho * (0.75 if right else -0.25) for right in RIGHT], atol=1e-12)


def test_property_4_standardised_advantages_forget_rho_up_to_the_eps():
    plain, scaled = advantage("grpo", RIGHT), advantage("grpo", [0.125 * right for right in RIGHT])
    np.testing.assert_allclose(scaled, plain, rtol=2e-5)
    assert (scaled != plain).all()


def verdicts(yes, of=10):
    return ["Yes"] * yes + ["No"] * (of - yes)


def test_worked_example_4():
    answers, judged = [*"AAAAABBBCC"], {"A": verdicts(2), "B": verdicts(7), "C": verdicts(1)}
    assert vote_scores(answers, judged) == pytest.approx({"A": 1.0, "B": 2.1, "C": 0.2})
    assert vote(answers, judged) == "B"


@pytest.mark.parametrize(("answers", "judged", "winner"), [
    ("ABB", {"A": verdicts(8, 8), "B": verdicts(8, 8)}, "B"), ("ABB", {"A": verdicts(0), "B": verdicts(0)}, "B"),
    ("BAAC", {"A": verdicts(3), "B": verdicts(6), "C": verdicts(6)}, "A"),
    ("BA", {"A": verdicts(3), "B": verdicts(3)}, "B"), ("AB", {"A": [None, "No", "No"], "B": ["Yes", None, None]}, "B"),
    ("AB", {"A": [None, "Yes"], "B": ["Yes", "Yes"]}, "B"), ("AB", {"B": ["Yes"]}, "B"), ("ABB", {}, "B"),
    ([None, None, "A"], {"A": verdicts(0)}, "A"), ([None], {}, None), ([], {}, None),
])
def test_votes(answers, judged, winner):
    assert vote([*answers], judged) == winner


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=9), st.integers(1, 8), st.randoms())
@settings(max_examples=60, deadline=None)
def test_votes_agree_with_the_oracle(answers, of, random):
    yes = {answer: [random.randint(0, 1) for _ in range(of)] for answer in "ABCD"}
    judged: dict[str, Any] = {answer: ["Yes" if each else "No" for each in marks] for answer, marks in yes.items()}
    assert vote(answers, judged) == oracle.winner(answers, yes)
