"""Starting episodes: the resets that come together go as one call."""

import json
from collections.abc import AsyncIterator

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.rpc.client import channel
from hone.spec.settings import Settings
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim
from services.rollout.patience import invalid


class Simulation:
    """Client of the simulation service; made inside the running loop."""

    def __init__(self, settings: Settings) -> None:
        self._timeout_s = settings.rpc_timeout_s
        self._channel = channel(settings.simulation_address)
        self._stub = simulation_pb2_grpc.SimulationServiceStub(self._channel)
        self._resets: Batcher[trajectory_pb2.Task, simulation_pb2.Session] = Batcher(self._reset, split=invalid)

    async def reset(self, claim: Claim) -> simulation_pb2.Session:
        """Return a session at the start of the group's task. Raises grpc.aio.AioRpcError."""
        return await self._resets.ask(_task(claim))

    async def forget(self, sessions: list[str]) -> None:
        """Let the service forget sessions that nobody will step. Raises grpc.aio.AioRpcError."""
        await self._stub.Close(simulation_pb2.CloseRequest(session_ids=sessions), timeout=self._timeout_s)

    async def close(self) -> None:
        await self._channel.close(None)

    async def _reset(self, tasks: list[trajectory_pb2.Task]) -> AsyncIterator[tuple[int, simulation_pb2.Session]]:
        response = await self._stub.Reset(simulation_pb2.ResetRequest(tasks=tasks), timeout=self._timeout_s)
        for place, session in enumerate(response.sessions):
            yield place, session


def _task(claim: Claim) -> trajectory_pb2.Task:
    item = claim.task.get("item")
    return trajectory_pb2.Task(
        environment=claim.task["environment"], params_json=json.dumps(claim.task.get("params") or {}),
        seed=claim.task["seed"], item_json="" if item is None else json.dumps(item), content_hash=claim.task_hash)
