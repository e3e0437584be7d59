"""The Simulation service: tasks are drawn, episodes reset and stepped. It keeps nothing that cannot be recreated."""

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.crashpoints import reach
from hone.environments import ENVIRONMENTS
from hone.environments.contract import Observation, Task, WrongParams
from hone.environments.streams import draw
from hone.environments.tasks import Split, episode_from_proto, json_object, to_proto
from hone.rpc.errors import Diverged, InvalidField, Refused
from services.simulation import messages
from services.simulation.maker import Maker
from services.simulation.sessions import Session, Sessions

MAX_TASKS = 65_536
_LONGEST_REFUSAL = 1000
_log = logging.getLogger(__name__)
SPLITS: dict[int, Split] = {simulation_pb2.SPLIT_TRAIN: "train", simulation_pb2.SPLIT_HELD_OUT: "held_out"}


class Simulation(simulation_pb2_grpc.SimulationServiceServicer):
    """Answers at `address`, which its sessions carry. Tasks are made in one thread, steps taken in another."""

    def __init__(self, address: str, sessions: Sessions) -> None:
        self._address, self._sessions = address, sessions
        self._maker, self._stepper = Maker("tasks"), Maker("steps")

    async def Reset(self, request: simulation_pb2.ResetRequest, context: Any) -> simulation_pb2.ResetResponse:
        """Start one session for each task."""
        started = await self._maker.made(lambda: _started(request.tasks))
        sessions = []
        for place, (one, seen) in enumerate(started):
            if place == len(started) // 2:
                reach("reset.mid")
            sessions.append(self._opened(one, messages.observation(seen)))
        return simulation_pb2.ResetResponse(sessions=sessions)

    async def Step(self, request: simulation_pb2.StepRequest, context: Any) -> simulation_pb2.StepResponse:
        """Take one step; the same index returns the stored answer."""
        session = self._sessions.get(request.session_id)
        return await self._stepper.made(lambda: messages.transition(session.step(request.index, request.action)))

    async def StepBatch(
            self, request: simulation_pb2.StepBatchRequest, context: Any) -> simulation_pb2.StepBatchResponse:
        """Take one step in each of many sessions."""
        reach("turn.before")
        asked = [(self._sessions.find(one.session_id), one) for one in request.steps]
        outcomes = await self._stepper.made(lambda: [_outcome(session, one) for session, one in asked])
        reach("turn.after")
        return simulation_pb2.StepBatchResponse(outcomes=outcomes)

    async def Snapshot(
            self, request: simulation_pb2.SnapshotRequest, context: Any) -> simulation_pb2.SnapshotResponse:
        """Return a session's state as JSON."""
        session = self._sessions.get(request.session_id)
        return await self._stepper.made(lambda: _snapshot(session))

    async def Restore(self, request: simulation_pb2.RestoreRequest, context: Any) -> simulation_pb2.RestoreResponse:
        """Start a session in the state of a snapshot."""
        restored = await self._maker.made(lambda: _restored(request))
        return simulation_pb2.RestoreResponse(session=self._opened(restored))

    async def Fork(self, request: simulation_pb2.ForkRequest, context: Any) -> simulation_pb2.ForkResponse:
        """Start an independent session in the state of another."""
        forked = await self._stepper.made(self._sessions.get(request.session_id).fork)
        return simulation_pb2.ForkResponse(session=self._opened(forked))

    async def Verify(self, request: simulation_pb2.VerifyRequest, context: Any) -> simulation_pb2.VerifyResponse:
        """Return the environment's own score of a session's present state."""
        score = await self._stepper.made(self._sessions.get(request.session_id).episode.verify)
        return simulation_pb2.VerifyResponse(score=score)

    async def Close(self, request: simulation_pb2.CloseRequest, context: Any) -> simulation_pb2.CloseResponse:
        """Forget sessions."""
        self._sessions.close(request.session_ids)
        return simulation_pb2.CloseResponse()

    async def DrawTasks(
            self, request: simulation_pb2.DrawTasksRequest, context: Any) -> simulation_pb2.DrawTasksResponse:
        """Return tasks of a split by their places in its stream."""
        tasks = await self._maker.made(lambda: _drawn(request))
        return simulation_pb2.DrawTasksResponse(tasks=map(to_proto, tasks))

    async def ListEnvironments(
            self, request: simulation_pb2.ListEnvironmentsRequest, context: Any,
    ) -> simulation_pb2.ListEnvironmentsResponse:
        """Name the environments and their parameters."""
        return simulation_pb2.ListEnvironmentsResponse(environments=[
            simulation_pb2.EnvironmentInfo(name=name, summary=kind.summary, harness=kind.harness,
                                           params_schema_json=json.dumps(kind.params.model_json_schema()))
            for name, kind in ENVIRONMENTS.items()])

    def _opened(
        self, session: Session, seen: simulation_pb2.Observation | None = None
    ) -> simulation_pb2.Session:
        return simulation_pb2.Session(session_id=self._sessions.open(session), address=self._address,
                                      ttl_s=self._sessions.ttl_s, observation=seen)


@contextmanager
def _fields_named(prefix: str = "") -> Iterator[None]:
    try:
        yield
    except WrongParams as error:
        raise InvalidField(prefix + error.field, error.found, error.expected) from error


def _started(tasks: Sequence[trajectory_pb2.Task]) -> list[tuple[Session, Observation]]:
    return [_start(task, place) for place, task in enumerate(tasks)]


def _start(message: trajectory_pb2.Task, place: int) -> tuple[Session, Observation]:
    with _fields_named(f"tasks[{place}]."):
        one = episode_from_proto(message)
        return Session(message, one), one.reset()


def _outcome(session: Session | None, one: simulation_pb2.StepRequest) -> simulation_pb2.StepOutcome:
    if session is None:
        return simulation_pb2.StepOutcome(lost=f"session {one.session_id}: unknown here, or unused for too long")
    try:
        return simulation_pb2.StepOutcome(taken=messages.transition(session.step(one.index, one.action)))
    except (InvalidField, Refused) as error:
        return simulation_pb2.StepOutcome(refused=str(error))
    except Exception as error:  # one session's trouble is not its neighbours'
        _log.exception("step %d of session %s", one.index, one.session_id)
        return simulation_pb2.StepOutcome(refused=ascii(error)[:_LONGEST_REFUSAL])


def _snapshot(session: Session) -> simulation_pb2.SnapshotResponse:
    return simulation_pb2.SnapshotResponse(
        task=session.task, state_json=json.dumps(session.episode.snapshot()), state_hash=session.episode.state_hash(),
        next_index=session.next_index)


def _restored(request: simulation_pb2.RestoreRequest) -> Session:
    with _fields_named("task."):
        one = episode_from_proto(request.task)
    with _fields_named():
        state = json_object(request.state_json, "state_json")
    try:
        one.restore(state)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidField("state_json", request.state_json[:200], "a snapshot of this task") from error
    if request.state_hash and one.state_hash() != request.state_hash:
        raise Diverged(f"state_hash: the restored state has {one.state_hash()}, expected {request.state_hash}")
    return Session(request.task, one, request.next_index)


def _drawn(request: simulation_pb2.DrawTasksRequest) -> list[Task]:
    if request.split not in SPLITS:
        raise InvalidField("split", request.split, "SPLIT_TRAIN or SPLIT_HELD_OUT")
    if request.count > MAX_TASKS:
        raise InvalidField("count", request.count, f"at most {MAX_TASKS} at a time")
    with _fields_named():
        params = json_object(request.params_json or "{}", "params_json")
        return draw(request.environment, params, SPLITS[request.split], request.seed,
                    request.first, request.count, request.distinct)
