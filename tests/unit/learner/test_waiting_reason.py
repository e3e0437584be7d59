"""The reason on a run's row why it waits: written once it lasts, taken back with the next one."""

from types import SimpleNamespace
from typing import Any

from services.learner.driver.reporting import WaitingReason

LEASE: Any = SimpleNamespace(run_id="run_1", epoch=2)


class Rows:
    """A database that holds the reason of one run."""

    def __init__(self, reason: str | None) -> None:
        self.reason = reason

    def run(self, statement: str, **named: Any) -> int:
        assert statement == "runs.set_waiting_for"
        self.reason = named["waiting_for"]
        return 1


def waiting(rows: Rows, after_s: float) -> WaitingReason:
    database: Any = rows
    return WaitingReason(database, LEASE, after_s)


def test_what_a_killed_driver_wrote_is_taken_back() -> None:
    rows = Rows("the trainer to commit step 9")
    waiting(rows, 60.0).notice("the trainer to commit step 62")
    assert rows.reason is None


def test_a_reason_is_written_when_it_has_lasted_and_taken_back_with_the_next() -> None:
    rows = Rows(None)
    one = waiting(rows, -1.0)  # every reason has lasted
    one.notice("rollouts")
    assert rows.reason is None
    one.notice("rollouts")
    assert rows.reason == "rollouts"
    one.notice("the trainer")
    assert rows.reason is None
