"""Episodes whose world is in another process wait beside each other, are closed, and say when their world is lost."""

import asyncio
import threading
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from hone.api import simulation_pb2
from hone.api.trajectory_pb2 import Task
from hone.environments import tasks
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import EpisodeFailed, EpisodeLost, EpisodeOver, Transition, WrongParams
from hone.environments.sort_digits import SortDigits
from hone.environments.tasks import episode, make
from hone.rpc.errors import InvalidField, NotFound, NotReady, Refused
from services.simulation.service import Simulation
from services.simulation.sessions import Beginnings, Session, Sessions
from services.simulation.waiting import Waiting

TOGETHER = 3
CALL: Any = SimpleNamespace(invocation_metadata=tuple)


class Remote:
    """A digit task whose answers come once as many others wait as there are sessions."""

    def __init__(self, inner: Any, meeting: threading.Barrier, closed: threading.Semaphore) -> None:
        self._inner, self._meeting, self._closed = inner, meeting, closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def step(self, action: str) -> Transition:
        if action == "lost":
            raise EpisodeLost("its server has gone")
        if action == "failed":
            raise EpisodeFailed("its user contradicts itself")
        self._meeting.wait(20)
        return self._inner.step(action)  # type: ignore[no-any-return]

    def close(self) -> None:
        self._closed.release()


class RemoteDigits(SortDigits):
    elsewhere = True

    def __init__(self) -> None:
        self.meeting, self.closed = threading.Barrier(TOGETHER), threading.Semaphore(0)

    def episode(self, params: Any, seed: int, item: Any) -> Any:
        return Remote(super().episode(params, seed, item), self.meeting, self.closed)


@pytest.fixture
def remote(monkeypatch: pytest.MonkeyPatch) -> RemoteDigits:
    kind = RemoteDigits()
    tasks._maker.cache_clear()
    monkeypatch.setitem(ENVIRONMENTS, "remote_digits", kind)
    return kind


async def started(simulation: Simulation, *names: str) -> list[str]:
    request = simulation_pb2.ResetRequest(tasks=[Task(environment=name) for name in names])
    return [session.session_id for session in (await simulation.Reset(request, CALL)).sessions]


async def outcomes(simulation: Simulation, sessions: list[str], action: str) -> list[Any]:
    steps = [simulation_pb2.StepRequest(session_id=one, action=action) for one in sessions]
    return list((await simulation.StepBatch(simulation_pb2.StepBatchRequest(steps=steps), CALL)).outcomes)


async def test_steps_that_wait_are_taken_beside_each_other_and_the_answers_keep_their_order(
    remote: RemoteDigits,
) -> None:
    simulation = Simulation("here", Sessions())
    sessions = await started(simulation, "remote_digits", "sort_digits", "remote_digits", "remote_digits")
    answered = await outcomes(simulation, sessions, "123")
    assert [one.WhichOneof("outcome") for one in answered] == ["taken"] * 4
    assert len({one.taken.observation.state_hash for one in answered}) == 1
    await simulation.Close(simulation_pb2.CloseRequest(session_ids=sessions), CALL)
    for _ in range(TOGETHER):
        assert remote.closed.acquire(timeout=20)


async def test_a_lost_world_is_a_lost_session_and_a_failed_episode_is_refused(remote: RemoteDigits) -> None:
    simulation = Simulation("here", Sessions())
    [session] = await started(simulation, "remote_digits")
    [lost] = await outcomes(simulation, [session], "lost")
    [failed] = await outcomes(simulation, [session], "failed")
    assert "its server has gone" in lost.lost
    assert failed.refused == "its user contradicts itself"
    with pytest.raises(NotFound, match="its server has gone"):
        await simulation.Step(simulation_pb2.StepRequest(session_id=session, action="lost"), CALL)
    with pytest.raises(Refused, match="contradicts"):
        await simulation.Step(simulation_pb2.StepRequest(session_id=session, action="failed"), CALL)
    assert remote.meeting.n_waiting == 0


@pytest.mark.parametrize(("error", "kind"), [
    (EpisodeLost("gone"), NotReady), (EpisodeFailed("gone"), Refused), (EpisodeOver("gone"), Refused),
    (WrongParams("params.world", "far", "a world that is not gone"), InvalidField)])
async def test_a_snapshot_whose_world_does_not_come_back_is_refused_with_the_reason(
    remote: RemoteDigits, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[Exception],
) -> None:
    monkeypatch.setattr(Remote, "restore", Mock(side_effect=error), raising=False)
    request = simulation_pb2.RestoreRequest(task=Task(environment="remote_digits"), state_json="{}")
    with pytest.raises(kind, match="gone") as refused:
        await Simulation("here", Sessions()).Restore(request, CALL)
    assert remote.meeting.n_waiting == 0
    assert "state_json" not in str(refused.value)


async def test_a_replay_lets_its_world_go(remote: RemoteDigits) -> None:
    simulation = Simulation("here", Sessions())
    replayed = await simulation.Replay(simulation_pb2.ReplayRequest(task=Task(environment="remote_digits")), CALL)
    assert replayed.before == replayed.after
    assert remote.closed.acquire(timeout=20)
    assert episode(make("remote_digits", {}, 0)).state_hash() == replayed.before.state_hash


async def test_a_call_that_fails_lets_all_worlds_go_that_it_began(
    remote: RemoteDigits, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server with few sessions would otherwise be full of those that nobody knows."""
    full = RemoteDigits()
    monkeypatch.setattr(full, "episode", Mock(side_effect=EpisodeLost("its server is full")))
    monkeypatch.setitem(ENVIRONMENTS, "full", full)
    with pytest.raises(NotReady, match="its server is full"):
        await started(Simulation("here", Sessions()), "remote_digits", "full", "remote_digits")
    for _ in range(2):
        assert remote.closed.acquire(timeout=20)


def test_what_begins_after_its_call_failed_is_closed() -> None:
    closed, begun = threading.Semaphore(0), Beginnings()
    begun.give_up()
    begun.add(Session(Task(), Remote(SortDigits(), threading.Barrier(1), closed)))
    assert closed.acquire(blocking=False)


async def test_an_error_of_one_that_waits_reaches_its_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await Waiting(2).run_all("", [lambda: 1, lambda: 1 // 0])


async def test_what_hangs_for_one_tenant_leaves_others_threads_and_the_next_turn() -> None:
    waiting, hanging = Waiting(3, 2), threading.Event()
    crowd = asyncio.create_task(waiting.run_all("crowd", [lambda: hanging.wait(20)] * 3))
    await asyncio.sleep(0)
    assert await asyncio.wait_for(waiting.run_all("other", [lambda: 1, lambda: 2]), 60) == [1, 2]
    hanging.set()
    assert await asyncio.wait_for(crowd, 60) == [True, True, True]


async def test_tenants_take_turns_and_a_cancelled_part_that_waits_is_not_run() -> None:
    waiting, hanging, order = Waiting(1, 1), threading.Event(), list[str]()
    first = asyncio.create_task(waiting.run_all("a", [lambda: hanging.wait(20), *[lambda: order.append("a")] * 2]))
    left = asyncio.create_task(waiting.run_all("c", [lambda: order.append("c")]))
    second = asyncio.create_task(waiting.run_all("b", [lambda: order.append("b")]))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.sleep(0)
    hanging.set()
    await asyncio.wait_for(asyncio.gather(first, second), 60)
    assert order == ["a", "b", "a"]
