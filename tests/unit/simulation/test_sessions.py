"""Sessions answer a repeated step from memory, and are forgotten after their time to live."""

import pytest

from hone.environments.tasks import episode, make, to_proto
from hone.rpc.errors import InvalidField, NotFound, OverBudget, Refused
from services.simulation.sessions import Session, Sessions


def started() -> Session:
    task = make("sort_digits", {"digits": 4}, 1)
    one = episode(task)
    one.reset()
    return Session(to_proto(task), one)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_same_index_returns_the_stored_answer() -> None:
    sessions = Sessions()
    session = sessions.open(started())
    first = sessions.get(session).step(0, "1234")
    assert sessions.get(session).step(0, "1234") is first
    assert sessions.get(session).step(0, "9999") is first
    assert first.done


@pytest.mark.parametrize("index", [-1, 1, 7])
def test_an_index_out_of_turn_is_refused(index: int) -> None:
    with pytest.raises(InvalidField, match=f"index: found {index}, expected 0 to 0"):
        started().step(index, "1234")


def test_a_step_after_the_end_is_refused() -> None:
    sessions = Sessions()
    session = sessions.open(started())
    sessions.get(session).step(0, "1234")
    with pytest.raises(Refused, match="only answer"):
        sessions.get(session).step(1, "1234")


def test_closed_and_unknown_sessions_are_not_found() -> None:
    sessions = Sessions()
    session = sessions.open(started())
    sessions.close([session, "ses_unknown"])
    for gone in (session, "ses_unknown"):
        with pytest.raises(NotFound):
            sessions.get(gone).step(0, "1234")


def test_a_session_lives_while_it_is_used() -> None:
    clock = Clock()
    sessions = Sessions(ttl_s=10, clock=clock)
    used, idle = sessions.open(started()), sessions.open(started())
    clock.now = 8
    sessions.get(used).step(0, "1234")
    clock.now = 11
    assert sessions.get(used).step(0, "1234").done
    with pytest.raises(NotFound, match="unused for 10 s"):
        sessions.get(idle).step(0, "1234")
    assert len(sessions) == 1


def test_a_fork_goes_on_from_the_same_state_by_itself() -> None:
    trunk = started()
    branch = trunk.fork()
    assert trunk.step(0, "1234").done
    assert branch.step(0, "4321").done
    assert trunk.episode.state_hash() != branch.episode.state_hash()
    with pytest.raises(InvalidField, match="expected 1 to 1"):
        trunk.fork().step(0, "1234")


def test_a_tenant_has_so_many_sessions_and_services_have_any_number() -> None:
    clock = Clock()
    sessions = Sessions(ttl_s=10, clock=clock, most=2)

    def opened(tenant_id: str) -> str:
        session = started()
        session.tenant_id = tenant_id
        return sessions.open(session)

    first, _ = opened("one"), opened("one")
    for tenant_id in ("two", "", "", ""):
        opened(tenant_id)
    with pytest.raises(OverBudget, match=r"found 1 beside 2 .*, expected at most 2 in all \(HONE_TENANT_SESSIONS\)"):
        opened("one")
    with pytest.raises(OverBudget):
        sessions.expect_room("three", 3)
    sessions.close([first], "two")
    with pytest.raises(OverBudget):
        opened("one")
    sessions.close([first], "one")
    opened("one")
    clock.now = 11
    sessions.expect_room("one", 2)
    assert len(sessions) == 0
