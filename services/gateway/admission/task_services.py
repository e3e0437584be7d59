"""The services that know tasks and grade answers, as the gateway asks them: with little time, and not twice."""

import json
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc

from hone.api import reward_pb2, reward_pb2_grpc, simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.environments.contract import Row
from hone.graders.right_answers import Finding, Standing
from hone.graders.specs import Spec
from hone.rpc import errors
from hone.rpc.client import channel
from hone.spec.settings import Settings
from services.gateway.admission.reference_sources import GradedSource


class ServiceAway(Exception):
    """A service did not answer in time. The message names it, and why."""


class TaskServices:
    """Asks the simulation and the reward service. Every call ends at `until`, a moment of time.monotonic()."""

    def __init__(self, settings: Settings, tenant_id: str, until: float) -> None:
        self._settings, self._tenant_id, self._until = settings, tenant_id, until

    @property
    def left_s(self) -> float:
        """Seconds until the end; at least a little, so that a call says itself that the time is over."""
        return max(self._until - time.monotonic(), 0.01)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._until

    async def drawn(self, source: GradedSource, count: int) -> list[Row]:
        """Return the items of the first `count` tasks that an environment draws for training. Raises ServiceAway."""
        request = simulation_pb2.DrawTasksRequest(
            environment=source.tasks.kind, params_json=json.dumps(source.tasks.params),
            split=simulation_pb2.SPLIT_TRAIN, seed=source.seed, count=count)
        try:
            async with channel(self._settings.addresses.simulation, self._settings.stack_token) as connection:
                stub = simulation_pb2_grpc.SimulationServiceStub(connection)
                tasks = (await stub.DrawTasks(request, timeout=self.left_s)).tasks
                return await self._items(stub, tasks)
        except grpc.aio.AioRpcError as error:
            raise ServiceAway(_described("simulation", error)) from error

    async def observed(self, source: GradedSource, rows: Sequence[Row]) -> list[Row]:
        """Return the items that an environment makes of a dataset's rows. Raises ServiceAway."""
        tasks = [trajectory_pb2.Task(environment=source.tasks.kind, params_json=json.dumps(source.tasks.params),
                                     item_json=json.dumps(row)) for row in rows]
        try:
            async with channel(self._settings.addresses.simulation, self._settings.stack_token) as connection:
                return await self._items(simulation_pb2_grpc.SimulationServiceStub(connection), tasks)
        except grpc.aio.AioRpcError as error:
            raise ServiceAway(_described("simulation", error)) from error

    async def findings(
        self, spec: Spec, source: GradedSource, items: Sequence[Row],
    ) -> AsyncIterator[tuple[int, Finding]]:
        """Yield the place of each item and the finding on its reference, as they come. Raises ServiceAway at last."""
        request = reward_pb2.CheckReferencesRequest(
            tenant_id=self._tenant_id, grader_json=spec.json, items_json=[json.dumps(item) for item in items],
            stop=source.ending.stop, include_stop=source.ending.include_stop)
        try:
            async with channel(self._settings.addresses.reward, self._settings.stack_token) as connection:
                stub = reward_pb2_grpc.RewardServiceStub(connection)
                async for response in stub.CheckReferences(request, timeout=self.left_s):
                    for place, message in zip(response.places, response.findings, strict=True):
                        yield place, _finding(message)
        except grpc.aio.AioRpcError as error:
            raise ServiceAway(_described("reward", error)) from error

    async def _items(self, stub: Any, tasks: Sequence[Any]) -> list[Row]:
        response = await stub.Reset(simulation_pb2.ResetRequest(tasks=tasks), timeout=self.left_s)
        ids = [session.session_id for session in response.sessions]
        await stub.Close(simulation_pb2.CloseRequest(session_ids=ids), timeout=self.left_s)
        return [json.loads(session.observation.item_json) for session in response.sessions]


def _finding(message: reward_pb2.ReferenceFinding) -> Finding:
    standing = reward_pb2.Standing.Name(message.standing).removeprefix("STANDING_")
    return Finding(Standing[standing], message.reason, message.output)


def _described(service: str, error: grpc.aio.AioRpcError) -> str:
    if error.code() in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.RESOURCE_EXHAUSTED):
        return f"the {service} service needed more time than the check may take"
    return f"the {service} service: {error.code().name}: {errors.reason(error)}"
