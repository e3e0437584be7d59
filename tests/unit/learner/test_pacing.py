"""How far rollouts run ahead, in numbers."""

from typing import Any

import pytest

from hone.algorithms.schedules.step_sizes import Piece, StepSizes
from services.learner.driver.groups import expiry
from services.learner.driver.pacing import Pace, staleness
from services.learner.driver.reporting import EngineClock
from services.learner.driver.view import GroupCount

SIZES = StepSizes((Piece(10, 32),))
SYNCHRONOUS, AHEAD = Pace(0, SIZES), Pace(2, SIZES)


def test_sizes_may_change_from_step_to_step() -> None:
    growing = Pace(1, StepSizes.of([4, 4, 8, 2]))
    assert [growing.room(committed) for committed in range(5)] == [8, 12, 10, 2, 0]
    assert [growing.before(n) for n in range(1, 5)] == [0, 4, 8, 16]
    assert [growing.change(n) for n in (1, 2)] == ["", ""]
    assert growing.change(3) == "8 groups a step from here on, 4 before"


def test_a_sample_of_the_version_in_training_is_not_stale() -> None:
    assert [staleness(5, version) for version in (4, 3, 1)] == [0, 1, 3]


@pytest.mark.parametrize(("pace", "committed", "room"), [
    (SYNCHRONOUS, 0, 32), (SYNCHRONOUS, 9, 32), (SYNCHRONOUS, 10, 0),
    (AHEAD, 0, 96), (AHEAD, 7, 96), (AHEAD, 8, 64), (AHEAD, 9, 32), (AHEAD, 10, 0),
])
def test_open_groups_are_bounded_by_staleness_and_by_what_is_left(pace: Pace, committed: int, room: int) -> None:
    assert pace.room(committed) == room


def test_nothing_is_open_for_steps_of_another_stage() -> None:
    assert [AHEAD.room(committed, last=4) for committed in range(5)] == [96, 96, 64, 32, 0]


@pytest.mark.parametrize(("pace", "n", "committed", "plannable"), [
    (SYNCHRONOUS, 1, 0, True), (SYNCHRONOUS, 2, 0, False), (SYNCHRONOUS, 11, 10, False),
    (AHEAD, 2, 0, True), (AHEAD, 3, 0, False), (AHEAD, 10, 8, True), (AHEAD, 11, 10, False),
])
def test_at_most_one_step_is_planned_behind_the_one_in_training(
    pace: Pace, n: int, committed: int, plannable: bool
) -> None:
    assert pace.plannable(n, committed) is plannable


@pytest.mark.parametrize(("open", "waits"), [
    (GroupCount(), True), (GroupCount(total=32, requested=1, ready=31), True), (GroupCount(total=32, ready=32), False)])
def test_a_synchronous_step_waits_for_every_group(open: GroupCount, waits: bool) -> None:
    assert SYNCHRONOUS.waits(3, open) is waits


@pytest.mark.parametrize(("begun", "waits"), [(None, False), (4, False), (3, False), (2, True), (1, True)])
def test_a_step_waits_for_what_would_be_too_stale_for_the_next(begun: int | None, waits: bool) -> None:
    """Step 5 trains version 4; a group of version 2 is 2 versions old in it and would be 3 in step 6."""
    assert AHEAD.waits(5, GroupCount(total=90, requested=3, ready=87, begun=begun)) is waits


@pytest.mark.parametrize(("open", "expires"), [
    (GroupCount(), False), (GroupCount(total=4, ready=4, oldest=2), False),
    (GroupCount(total=4, ready=4, oldest=1), True), (GroupCount(total=4, requested=4, late=1), True),
])
def test_what_is_late_or_staler_than_the_bound_expires(open: GroupCount, expires: bool) -> None:
    assert AHEAD.oldest(5) == 2
    assert AHEAD.expires(5, open) is expires
    assert not SYNCHRONOUS.expires(5, open)


@pytest.mark.parametrize(("gone", "message"), [
    ([(None, "reward: away"), (None, "reward: away")], "2 groups were not ready within the deadline: reward: away"),
    ([(None, "reward: away"), (None, "inference: away")],
     "1 group was not ready within the deadline: inference: away; "
     "1 group was not ready within the deadline: reward: away"),
    ([(None, None)], "1 group was not ready within the deadline"),
    ([(1.0, None), (None, None)],
     "1 group was not ready within the deadline; 1 group was staler than training may go on with"),
])
def test_expired_groups_are_reported_with_their_own_reasons(
    gone: list[tuple[float | None, str | None]], message: str
) -> None:
    assert expiry([{"ready_at": at, "waited_for": reason} for at, reason in gone]) == message


class Looks:
    """A database that returns one row after the other."""

    def __init__(self, *rows: tuple[float, int, float]) -> None:
        self._rows = [{"at": at, "engines": engines, "computed_s": computed} for at, engines, computed in rows]

    def one(self, *_: object, **__: object) -> dict[str, float]:
        return self._rows.pop(0)


def test_idle_engines_are_those_that_computed_less_than_time_passed() -> None:
    looks: Any = Looks((10.0, 2, 4.0), (13.0, 2, 6.0), (14.0, 1, 9.0), (15.0, 1, 11.0))
    clock = EngineClock("mod_1", 5.0)
    found = [clock.idle(looks) for _ in range(4)]
    assert found == [{}, {"engine/idle_s": 2.0}, {}, {"engine/idle_s": 0.0}]


def test_time_that_rows_report_late_is_taken_off_the_next_looks() -> None:
    looks: Any = Looks((0.0, 1, 0.0), (1.0, 1, 0.0), (2.0, 1, 1.7), (4.0, 1, 1.7), (5.0, 2, 0.0), (6.0, 2, 1.0))
    clock = EngineClock("mod_1", 5.0)
    found = [clock.idle(looks).get("engine/idle_s") for _ in range(6)]
    assert found == [None, 1.0, 0.0, pytest.approx(1.3), None, 0.5], "2.3 of 4 seconds"
