"""A run whose samples take long cannot keep other runs from being graded."""

import pytest

from services.reward.shares import Shares


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shares(clock: Clock) -> Shares:
    return Shares(30, clock)


def graded(shares: Shares, clock: Clock, run: str, seconds: float) -> None:
    began = shares.begin(run)
    clock.now += seconds
    assert shares.end(run, began) == pytest.approx(seconds)


def test_the_run_that_used_least_is_next(shares: Shares, clock: Clock) -> None:
    graded(shares, clock, "slow", 5)
    graded(shares, clock, "fast", 0.01)
    assert shares.next(["slow", "fast"]) == "fast"
    assert shares.next(["slow"]) == "slow"
    assert shares.next([]) is None


def test_a_grade_in_progress_counts(shares: Shares, clock: Clock) -> None:
    graded(shares, clock, "fast", 1)
    shares.begin("slow")
    clock.now += 5
    assert (shares.used("slow"), shares.next(["slow", "fast"])) == (5, "fast")


def test_beside_other_runs_a_run_waits_once_its_budget_is_used(shares: Shares, clock: Clock) -> None:
    graded(shares, clock, "fast", 1)
    for _ in range(6):
        graded(shares, clock, "slow", 5)
    assert shares.next(["slow"]) is None
    assert shares.next(["slow", "fast"]) == "fast"
    graded(shares, clock, "fast", 1)
    clock.now = 66.5  # its first grade ended more than a minute ago
    assert (shares.used("slow"), shares.used("fast")) == (25, 1)
    assert shares.next(["slow"]) == "slow"


def test_a_run_that_is_alone_has_the_whole_pool(shares: Shares, clock: Clock) -> None:
    for _ in range(20):
        graded(shares, clock, "slow", 5)
    assert shares.next(["slow"]) == "slow"
    assert shares.next(["slow", "other"]) == "other"


def test_runs_without_grades_of_the_last_minute_are_forgotten(shares: Shares, clock: Clock) -> None:
    for place in range(100):
        graded(shares, clock, f"run {place}", 0.1)
    clock.now += 120
    assert not shares.shared(["a run"])
    assert not shares._ended
