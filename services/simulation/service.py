"""The Simulation service: tasks are drawn, episodes reset and stepped. It keeps nothing that cannot be recreated."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.crashpoints import reach
from hone.environments import ENVIRONMENTS
from hone.environments.contract import Episode, Observation, Task, Transition, WrongParams
from hone.environments.hashing import canonical
from hone.environments.streams import draw
from hone.environments.tasks import Split
from hone.environments.wire import episode_from_proto, json_object, to_proto
from hone.rpc.errors import InvalidField
from services.simulation.maker import Maker
from services.simulation.sessions import Sessions

MAX_TASKS = 65_536
SPLITS: dict[int, Split] = {simulation_pb2.SPLIT_TRAIN: "train", simulation_pb2.SPLIT_HELD_OUT: "held_out"}


class Simulation(simulation_pb2_grpc.SimulationServiceServicer):
    """Answers at `address`, which its sessions carry."""

    def __init__(self, address: str, sessions: Sessions) -> None:
        self._address, self._sessions = address, sessions
        self._maker = Maker()

    async def Reset(self, request: simulation_pb2.ResetRequest, context: Any) -> simulation_pb2.ResetResponse:
        """Start one session for each task."""
        started = await self._maker.made(lambda: _started(request.tasks))
        sessions = []
        for place, (one, seen) in enumerate(started):
            if place == len(started) // 2:
                reach("reset.mid")
            sessions.append(simulation_pb2.Session(session_id=self._sessions.open(one), address=self._address,
                                                   ttl_s=self._sessions.ttl_s, observation=_observation(seen)))
        return simulation_pb2.ResetResponse(sessions=sessions)

    async def Step(self, request: simulation_pb2.StepRequest, context: Any) -> simulation_pb2.StepResponse:
        """Take one step; the same index returns the stored answer."""
        return _step(self._sessions.step(request.session_id, request.index, request.action))

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
            simulation_pb2.EnvironmentInfo(name=name, summary=kind.summary,
                                           params_schema_json=json.dumps(kind.params.model_json_schema()))
            for name, kind in ENVIRONMENTS.items()])


@contextmanager
def _fields_named(prefix: str = "") -> Iterator[None]:
    try:
        yield
    except WrongParams as error:
        raise InvalidField(prefix + error.field, error.found, error.expected) from error


def _started(tasks: Sequence[trajectory_pb2.Task]) -> list[tuple[Episode, Observation]]:
    return [_start(task, place) for place, task in enumerate(tasks)]


def _start(message: trajectory_pb2.Task, place: int) -> tuple[Episode, Observation]:
    with _fields_named(f"tasks[{place}]."):
        one = episode_from_proto(message)
        return one, one.reset()


def _drawn(request: simulation_pb2.DrawTasksRequest) -> list[Task]:
    if request.split not in SPLITS:
        raise InvalidField("split", request.split, "SPLIT_TRAIN or SPLIT_HELD_OUT")
    if request.count > MAX_TASKS:
        raise InvalidField("count", request.count, f"at most {MAX_TASKS} at a time")
    with _fields_named():
        params = json_object(request.params_json or "{}", "params_json")
        return draw(request.environment, params, SPLITS[request.split], request.seed,
                    request.first, request.count, request.distinct)


def _observation(seen: Observation) -> simulation_pb2.Observation:
    return simulation_pb2.Observation(
        messages=[simulation_pb2.Message(**message) for message in seen.messages], item_json=canonical(seen.item),
        grader_json=canonical(seen.grader), turns_left=seen.turns_left, state_hash=seen.state_hash)


def _step(taken: Transition) -> simulation_pb2.StepResponse:
    return simulation_pb2.StepResponse(
        observation=_observation(taken.observation), done=taken.done, valid=taken.valid, reward=taken.reward)
