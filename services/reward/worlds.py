"""Worlds of samples: copies of environments in their last states, which the simulation service keeps meanwhile."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import grpc

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.graders.sample import Origin, World
from hone.graders.scenes import Scene, Seen, State, WorldLost
from hone.rpc import errors
from hone.rpc.client import channel
from hone.rpc.errors import NotReady

TIMEOUT_S = 60.0
_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED)


class Worlds:
    """Enters worlds by the simulation service at host:port. Make it inside the running loop, and close it at the end.
    """

    def __init__(self, address: str, token: str) -> None:
        self._channel = channel(address, token)
        self._stub = simulation_pb2_grpc.SimulationServiceStub(self._channel)

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close(None)

    @asynccontextmanager
    async def entered(self, world: World) -> AsyncIterator[Scene]:
        """Give a copy of a world, and forget it in the end.

        Raises WorldLost where the copy has another state, or is lost on the way, and NotReady while the service is
        away.
        """
        if world.task is None:
            raise WorldLost("the sample was sent without its task, so that its environment cannot be made again")
        copy = _Copy(self._stub, world, task_message(world.task))
        try:
            await copy.session("after")
            yield copy
        finally:
            await copy.forget()

    async def replayed(self, task: Origin, actions: Sequence[str], state_hashes: Sequence[str]) -> World:
        """Return the world of a task after recorded actions. Raises as `entered` does."""
        with _failures():
            states = await self._stub.Replay(simulation_pb2.ReplayRequest(
                task=task_message(task), actions=actions, state_hashes=state_hashes), timeout=TIMEOUT_S)
        return World(before=json.loads(states.before.state_json), after=json.loads(states.after.state_json),
                     task=task, state_hash=states.after.state_hash)


class _Copy:
    """Sessions in the states of a world, each begun when it is first looked at."""

    def __init__(
        self, stub: "simulation_pb2_grpc.SimulationServiceAsyncStub", world: World, task: trajectory_pb2.Task
    ) -> None:
        self._stub, self._world, self._task = stub, world, task
        self._sessions = dict[State, str]()
        self.tools: Sequence[Mapping[str, Any]] = ()

    async def use(self, tool: str, arguments: Mapping[str, Any], state: State = "after") -> Seen:
        request = simulation_pb2.ExamineRequest(
            session_id=await self.session(state), tool=tool, arguments_json=json.dumps(arguments))
        with _failures():
            seen = await self._stub.Examine(request, timeout=TIMEOUT_S)
        return Seen(seen.text, seen.valid)

    async def session(self, state: State) -> str:
        """Return the id of the session in a state, and begin it where it is not begun yet."""
        if state not in self._sessions:
            world = self._world
            with _failures():
                restored = await self._stub.Restore(simulation_pb2.RestoreRequest(
                    task=self._task, state_json=json.dumps(getattr(world, state)),
                    state_hash=world.state_hash if state == "after" else ""), timeout=TIMEOUT_S)
            self._sessions[state] = restored.session.session_id
            self.tools = json.loads(restored.examination_tools_json or "[]")
        return self._sessions[state]

    async def forget(self) -> None:
        with suppress(grpc.aio.AioRpcError):  # they are forgotten by themselves after a while
            await self._stub.Close(
                simulation_pb2.CloseRequest(session_ids=self._sessions.values()), timeout=TIMEOUT_S)


def task_message(task: Origin) -> trajectory_pb2.Task:
    """Return a task as a protocol message."""
    return trajectory_pb2.Task(
        environment=task.environment, params_json=json.dumps(task.params or {}), seed=task.seed,
        item_json="" if task.item is None else json.dumps(task.item),
        noise_json=json.dumps(task.noise) if task.noise else "")


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        reason = f"the simulation service: {errors.reason(error)}"
        raise (NotReady(reason) if error.code() in _AWAY else WorldLost(reason)) from error
