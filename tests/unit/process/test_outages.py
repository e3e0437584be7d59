"""Outages: a worker waits while Postgres or the object store is away, and raises every other error."""

import threading

import pytest
from psycopg import OperationalError

from hone.process.outages import Outages
from hone.store.objects import StoreAway


class Failing:
    """Work that raises each error once, and then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)


@pytest.fixture
def outages() -> Outages:
    return Outages(threading.Event(), pause_s=0.001)


def test_work_is_done_once_and_an_outage_is_logged(outages: Outages, caplog: pytest.LogCaptureFixture) -> None:
    work = Failing(StoreAway("no route to the bucket"))
    assert not outages.survive(work)
    assert outages.survive(work)
    assert work.calls == 2
    assert "waiting: no route to the bucket" in caplog.text


def test_work_is_repeated_until_the_servers_are_back(outages: Outages) -> None:
    work = Failing(OperationalError("the server closed"), PermissionError("refused"))
    outages.outlast(work)
    assert work.calls == 3


def test_work_is_given_up_when_the_process_is_to_stop() -> None:
    stop = threading.Event()
    stop.set()
    work = Failing()
    Outages(stop, pause_s=60).outlast(work)
    assert work.calls == 0


def test_another_error_is_raised(outages: Outages) -> None:
    with pytest.raises(ValueError, match="a defect"):
        outages.outlast(Failing(ValueError("a defect")))
