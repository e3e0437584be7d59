"""The vote weighted by verdicts: self-verify.md, worked example 4 and "Where the paper is silent"."""

import random
from collections import Counter

import pytest

from hone.environments.verdict_form import Label
from hone.harnesses.voting import voted


def verdicts(yes: int, of: int) -> list[Label | None]:
    return ["Yes" if place < yes else "No" for place in range(of)]


def test_the_worked_example_is_won_by_the_answer_that_is_believed() -> None:
    vote = voted(["A"] * 5 + ["B"] * 3 + ["C"] * 2, {"A": verdicts(2, 10), "B": verdicts(7, 10), "C": verdicts(1, 10)})
    assert (vote.winner, vote.majority) == ("B", "A")
    assert vote.scores == pytest.approx({"A": 1.0, "B": 2.1, "C": 0.2})


def test_equal_verdicts_leave_the_vote_of_the_majority() -> None:
    drawn = random.Random(0)
    for _ in range(50):
        answers = drawn.choices("abc", k=7)
        vote = voted(answers, {answer: verdicts(3, 4) for answer in "abc"})
        assert vote.winner == vote.majority == max(Counter(answers), key=Counter(answers).__getitem__)


def test_ties_go_to_the_larger_count_and_then_to_the_first() -> None:
    assert voted(["a", "b", "b"], {"a": verdicts(2, 2), "b": verdicts(1, 2)}).winner == "b"
    assert voted(["b", "a"], {"a": verdicts(1, 2), "b": verdicts(1, 2)}).winner == "b"
    assert voted(["b", "a", "a"], {"a": verdicts(0, 2), "b": verdicts(0, 2)}).winner == "a"


def test_what_cannot_be_read_is_no_and_what_was_not_found_has_no_vote() -> None:
    assert voted(["a", "a", "b", None], {"a": [None, None, "Yes"], "b": ["Yes", "Yes", "Yes"]}).winner == "b"
    assert voted([None, None], {}) == voted([], {})
    assert voted([None], {}).winner is None
