"""Sessions answer a repeated step from memory and are forgotten after their time."""

import pytest

from hone.environments.contract import Episode
from hone.environments.tasks import episode, make
from hone.rpc.errors import InvalidField, NotFound, Refused
from services.simulation.sessions import Sessions


def started() -> Episode:
    one = episode(make("sort_digits", {"digits": 4}, 1))
    one.reset()
    return one


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_same_index_returns_the_stored_answer() -> None:
    sessions = Sessions()
    session = sessions.open(started())
    first = sessions.step(session, 0, "1234")
    assert sessions.step(session, 0, "1234") is first
    assert sessions.step(session, 0, "9999") is first
    assert first.done


@pytest.mark.parametrize("index", [-1, 1, 7])
def test_an_index_out_of_turn_is_refused(index: int) -> None:
    sessions = Sessions()
    with pytest.raises(InvalidField, match=f"index: found {index}, expected at most 0"):
        sessions.step(sessions.open(started()), index, "1234")


def test_a_step_after_the_end_is_refused() -> None:
    sessions = Sessions()
    session = sessions.open(started())
    sessions.step(session, 0, "1234")
    with pytest.raises(Refused, match="only answer"):
        sessions.step(session, 1, "1234")


def test_closed_and_unknown_sessions_are_not_found() -> None:
    sessions = Sessions()
    session = sessions.open(started())
    sessions.close([session, "ses_unknown"])
    for gone in (session, "ses_unknown"):
        with pytest.raises(NotFound):
            sessions.step(gone, 0, "1234")


def test_a_session_lives_while_it_is_used() -> None:
    clock = Clock()
    sessions = Sessions(ttl_s=10, clock=clock)
    used, idle = sessions.open(started()), sessions.open(started())
    clock.now = 8
    sessions.step(used, 0, "1234")
    clock.now = 11
    assert sessions.step(used, 0, "1234").done
    with pytest.raises(NotFound, match="unused for 10 s"):
        sessions.step(idle, 0, "1234")
    assert len(sessions) == 1
