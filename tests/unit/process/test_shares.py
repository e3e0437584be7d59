"""A run, or a tenant of many runs, whose samples take long cannot keep others from being graded."""

import pytest

from hone.process.shares import FairShares, Owner, Shares


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
    assert shares.order(["slow", "fast"])[0] == "fast"
    assert shares.order(["slow"])[0] == "slow"
    assert shares.order([]) == []


def test_a_grade_in_progress_counts(shares: Shares, clock: Clock) -> None:
    graded(shares, clock, "fast", 1)
    shares.begin("slow")
    clock.now += 5
    assert (shares.used("slow"), shares.order(["slow", "fast"])) == (5, ["fast", "slow"])


def test_beside_other_runs_a_run_waits_once_its_budget_is_used(shares: Shares, clock: Clock) -> None:
    graded(shares, clock, "fast", 1)
    for _ in range(6):
        graded(shares, clock, "slow", 5)
    assert shares.order(["slow"]) == []
    assert shares.order(["slow", "fast"])[0] == "fast"
    graded(shares, clock, "fast", 1)
    clock.now = 66.5  # its first grade ended more than a minute ago
    assert (shares.used("slow"), shares.used("fast")) == (25, 1)
    assert shares.order(["slow"])[0] == "slow"


def test_a_run_that_is_alone_has_the_whole_pool(shares: Shares, clock: Clock) -> None:
    for _ in range(20):
        graded(shares, clock, "slow", 5)
    assert shares.order(["slow"])[0] == "slow"
    assert shares.order(["slow", "other"])[0] == "other"


def test_runs_without_grades_of_the_last_minute_are_forgotten(shares: Shares, clock: Clock) -> None:
    for place in range(100):
        graded(shares, clock, f"run {place}", 0.1)
    clock.now += 120
    assert not shares.shared(["a run"])
    assert not shares._ended


def test_a_tenant_of_many_runs_gets_no_more_than_one_of_a_single_run(clock: Clock) -> None:
    shares = FairShares(30, clock)
    many = [Owner("many", f"run {number}") for number in range(8)]
    [single] = [Owner("single", "alone")]
    given = {"many": 0.0, "single": 0.0}
    for _ in range(100):
        owner = shares.next([*many, single])
        assert owner is not None
        began = shares.begin(owner)
        clock.now += 0.25
        given[owner.tenant] += shares.end(owner, began)
    assert given == {"many": 12.5, "single": 12.5}


def test_a_tenant_that_used_its_budget_waits_though_its_next_run_used_none(clock: Clock) -> None:
    shares = FairShares(30, clock)
    for number in range(6):
        began = shares.begin(Owner("many", f"run {number}"))
        clock.now += 6
        shares.end(Owner("many", f"run {number}"), began)
    fresh = Owner("many", "fresh")
    assert shares.next([fresh]) == fresh, "nobody else is graded"
    shares.end(Owner("single", "alone"), shares.begin(Owner("single", "alone")))
    began = shares.begin(Owner("single", "alone"))
    assert shares.next([fresh]) is None
    assert shares.report(fresh) == (
        "the tenant's samples used 36 s of the last 60 s, and 30 s are its share while others have work")
    shares.end(Owner("single", "alone"), began)
