"""Episodes at the simulation service: the resets and the steps that come together go as one call."""

import json
from collections.abc import AsyncIterator

from hone.api import simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.rpc.client import TIMEOUT_S, channel
from hone.spec.settings import Settings
from hone.telemetry import tracing
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim
from services.rollout.patience import invalid


class SessionLost(Exception):
    """The service does not know the session any more: it was started again, or forgot it."""


class StepRefused(RuntimeError):
    """A session that is known will not take this step, however often it is asked: its sample is masked."""


class Host:
    """One simulation process: sessions are stepped where they are."""

    def __init__(self, address: str) -> None:
        self._channel = channel(address)
        self.stub = simulation_pb2_grpc.SimulationServiceStub(self._channel)
        self._steps: Batcher[simulation_pb2.StepRequest, simulation_pb2.StepOutcome] = Batcher(self._step)

    async def step(self, request: simulation_pb2.StepRequest) -> simulation_pb2.StepOutcome:
        """Take a step together with those that are asked for now. Raises grpc.aio.AioRpcError."""
        return await self._steps.ask(request)

    async def close(self) -> None:
        await self._channel.close(None)

    async def _step(
        self, requests: list[simulation_pb2.StepRequest]
    ) -> AsyncIterator[tuple[int, simulation_pb2.StepOutcome]]:
        batch = simulation_pb2.StepBatchRequest(steps=requests)
        response = await self.stub.StepBatch(batch, timeout=TIMEOUT_S)
        for place, outcome in enumerate(response.outcomes):
            yield place, outcome


class Simulation:
    """Client of the simulation service; made inside the running loop."""

    def __init__(self, settings: Settings) -> None:
        self._address = settings.addresses.simulation
        self._hosts: dict[str, Host] = {}
        self._resets: Batcher[trajectory_pb2.Task, simulation_pb2.Session] = Batcher(self._reset, split=invalid)

    async def reset(self, claim: Claim) -> simulation_pb2.Session:
        """Return a session at the start of the group's task. Raises grpc.aio.AioRpcError."""
        with tracing.span("reset", environment=claim.order.task["environment"]):
            return await self._resets.ask(_task(claim))

    async def step(self, session: simulation_pb2.Session, index: int, action: str) -> simulation_pb2.StepResponse:
        """Return where a step leads; the same index leads to the same place.

        Raises SessionLost, StepRefused and grpc.aio.AioRpcError.
        """
        request = simulation_pb2.StepRequest(session_id=session.session_id, index=index, action=action)
        with tracing.span("step", index=index):
            outcome = await self._host(session.address).step(request)
        if outcome.HasField("lost"):
            raise SessionLost(outcome.lost)
        if outcome.HasField("refused"):
            raise StepRefused(f"step {index} of {session.session_id}: {outcome.refused}")
        return outcome.taken

    async def forget(self, sessions: list[simulation_pb2.Session]) -> None:
        """Let the service forget sessions that nobody will step. Raises grpc.aio.AioRpcError."""
        for address in {session.address for session in sessions}:
            ids = [session.session_id for session in sessions if session.address == address]
            await self._host(address).stub.Close(simulation_pb2.CloseRequest(session_ids=ids), timeout=TIMEOUT_S)

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.close()

    def _host(self, address: str) -> Host:
        wanted = address or self._address
        if wanted not in self._hosts:
            self._hosts[wanted] = Host(wanted)
        return self._hosts[wanted]

    async def _reset(self, tasks: list[trajectory_pb2.Task]) -> AsyncIterator[tuple[int, simulation_pb2.Session]]:
        request = simulation_pb2.ResetRequest(tasks=tasks)
        response = await self._host(self._address).stub.Reset(request, timeout=TIMEOUT_S)
        for place, session in enumerate(response.sessions):
            yield place, session


def _task(claim: Claim) -> trajectory_pb2.Task:
    task, item = claim.order.task, claim.order.task.get("item")
    return trajectory_pb2.Task(
        environment=task["environment"], params_json=json.dumps(task.get("params") or {}), seed=task["seed"],
        item_json="" if item is None else json.dumps(item), content_hash=claim.order.task_hash)
