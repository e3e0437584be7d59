"""Figures of several lives: shares and counts of causes, intervals over lives, and periods that not all reached."""

import pytest

from hone.algorithms.memory_diagnosis import FEWEST, Diagnosis, Lived, diagnosis
from tests.support.algorithms.periods import period


def found(samples: list[Lived], t: int | None = None) -> Diagnosis:
    made = diagnosis(samples, 7, t)
    assert made is not None
    return made


def test_shares_are_means_over_lives_and_add_up_to_1_while_failures_are_counted() -> None:
    twice = Lived("a", (period(0, (None, "write")), period(1, ("read", "read"))))
    samples = [twice, twice, Lived("b", (period(0, (None, None)), period(1, (None, "utilization"))))]
    whole, second = found(samples), found(samples, 1)
    assert (whole.lives, whole.samples, whole.questions, whole.json_errors) == (2, 3, 12, 6)
    assert whole.failures == {"write": 2, "read": 4, "utilization": 1}
    assert {name: one.value for name, one in whole.shares.items()} == {
        "accuracy": 0.5, "write": 0.125, "read": 0.25, "utilization": 0.125, "known": 0.5}
    assert (second.questions, second.failures) == (6, {"write": 0, "read": 4, "utilization": 1})
    assert whole.memory_score.value == pytest.approx((0.5 - 0.25) / 0.75)
    assert (whole.memory_score.low, whole.random, whole.upper) == (None, 0.25, 1.0)


def test_lives_that_were_cut_count_as_far_as_they_came() -> None:
    short = [Lived("a", (period(0, (None,)),)), Lived("b", (period(0, ("write",)), period(1, (None,)))), Lived("c", ())]
    assert (found(short).samples, found(short).shares["accuracy"].value) == (2, 0.75)
    assert (found(short, 1).samples, found(short, 1).shares["accuracy"].value) == (1, 1.0)
    assert diagnosis(short, 7, 2) is None


def test_periods_without_a_memory_score_are_left_out_and_counted() -> None:
    equal = found([Lived("a", (period(0, (None,)), period(1, ("read",), upper=0.25)))])
    assert (equal.memory_score.value, equal.left_out) == (1.0, 1)
    assert found([Lived("a", (period(1, ("read",), upper=0.25),))]).memory_score.value is None


def test_intervals_are_over_lives_and_never_of_no_width() -> None:
    right, wrong = period(0, (None,) * 8), period(0, ("write",) * 8)
    lives = [Lived(str(place), (right if place % 2 else wrong,)) for place in range(40)]
    share = found(lives).shares["accuracy"]
    assert share.low == pytest.approx(0.35, abs=0.03), "40 lives, not 320 questions"
    assert share.high == pytest.approx(0.65, abs=0.03)
    assert found([*lives, *lives]).shares["accuracy"] == share, "further samples of a life are no further lives"
    read = found(lives).shares["read"]
    assert (read.value, read.low) == (0.0, 0.0)
    assert read.high == pytest.approx(0.0876, abs=1e-3)
    few = found(lives[:FEWEST - 1])
    assert few.shares["accuracy"].low == pytest.approx(0.189, abs=1e-3), "4 of 9, Wilson's"
    assert few.memory_score.low is None
    assert found(lives).memory_score.low is not None
