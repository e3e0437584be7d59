"""Clients of the simulation and the reward service. Requests that are made together go as one call."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import grpc

from hone.api import reward_pb2, reward_pb2_grpc, simulation_pb2, simulation_pb2_grpc, trajectory_pb2
from hone.graders.sample import Sent
from hone.rpc import errors
from hone.rpc.client import TIMEOUT_S, channel
from hone.spec.settings import Settings
from hone.telemetry import tracing
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim
from services.rollout.retry import Unavailable, invalid

Key = TypeVar("Key")
Item = TypeVar("Item")
Answer = TypeVar("Answer")
STATUSES = {number: name.removeprefix("GRADE_STATUS_").lower()
            for name, number in reward_pb2.GradeStatus.items() if number}
"""The words of `grades.status` for the protocol's numbers."""
ANSWERS_PER_TIMEOUT = 256
"""The time limit of a call to the reward service grows by TIMEOUT_S for each so many answers."""
GraderKey = tuple[str, str, str]
"""Tenant, run, and the grader's JSON."""
GRADING_CALLS = 16
"""Calls to one grader that run at a time. Answers that come meanwhile go together in the next one."""


class SessionLost(Unavailable):
    """The simulation service does not know the session: it restarted, or the session expired. Another is rebuilt."""


class StepRefused(RuntimeError):
    """A known session refuses this step, and always will. The sample is masked."""


class OfRuns(Generic[Key, Item, Answer]):
    """Batchers by run: the requests of a slow run hold up no other run's. The key may say more than the run."""

    def __init__(self, make: Callable[[Key], Batcher[Item, Answer]]) -> None:
        self._make = make
        self._made: dict[Key, Batcher[Item, Answer]] = {}

    def of(self, key: Key) -> Batcher[Item, Answer]:
        if key not in self._made:
            self._made = {known: one for known, one in self._made.items() if not one.idle}
            self._made[key] = self._make(key)
        return self._made[key]


class SimulationHost:
    """One simulation process. A session is stepped by the process that holds it."""

    def __init__(self, address: str, token: str) -> None:
        self._channel = channel(address, token)
        self.stub = simulation_pb2_grpc.SimulationServiceStub(self._channel)
        self._steps = OfRuns[str, simulation_pb2.StepRequest, simulation_pb2.StepOutcome](
            lambda _: Batcher(self._step))

    async def step(self, run_id: str, request: simulation_pb2.StepRequest) -> simulation_pb2.StepOutcome:
        """Take a step of a run. Raises grpc.aio.AioRpcError."""
        return await self._steps.of(run_id).ask(request)

    async def close(self) -> None:
        await self._channel.close(None)

    async def _step(
        self, requests: list[simulation_pb2.StepRequest]
    ) -> AsyncIterator[tuple[int, simulation_pb2.StepOutcome]]:
        batch = simulation_pb2.StepBatchRequest(steps=requests)
        response = await self.stub.StepBatch(batch, timeout=TIMEOUT_S)
        for place, outcome in enumerate(response.outcomes):
            yield place, outcome


class SimulationClient:
    """Starts, steps and ends the sessions of episodes. Make it inside the running loop."""

    def __init__(self, settings: Settings) -> None:
        self._address, self._token = settings.addresses.simulation, settings.stack_token
        self._hosts: dict[str, SimulationHost] = {}
        self._resets = OfRuns[str, trajectory_pb2.Task, simulation_pb2.Session](
            lambda _: Batcher(self._reset, split=invalid))

    async def reset(self, claim: Claim) -> simulation_pb2.Session:
        """Return a session at the start of the group's task. Raises grpc.aio.AioRpcError."""
        with tracing.span("reset", environment=claim.order.task["environment"]):
            return await self._resets.of(claim.run_id).ask(_task(claim))

    async def step(
        self, run_id: str, session: simulation_pb2.Session, index: int, action: str,
    ) -> simulation_pb2.StepResponse:
        """Take step `index` and return its result. Repeating a step that was taken returns the same result.

        Raises SessionLost, StepRefused and grpc.aio.AioRpcError.
        """
        request = simulation_pb2.StepRequest(session_id=session.session_id, index=index, action=action)
        with tracing.span("step", index=index):
            outcome = await self._host(session.address).step(run_id, request)
        if outcome.HasField("lost"):
            raise SessionLost(outcome.lost)
        if outcome.HasField("refused"):
            raise StepRefused(f"step {index} of {session.session_id}: {outcome.refused}")
        return outcome.taken

    async def fork(self, session: simulation_pb2.Session) -> simulation_pb2.Session:
        """Return an independent session in the same state. Raises SessionLost and grpc.aio.AioRpcError."""
        request = simulation_pb2.ForkRequest(session_id=session.session_id)
        with _lost():
            return (await self._host(session.address).stub.Fork(request, timeout=TIMEOUT_S)).session

    async def snapshot(self, session: simulation_pb2.Session) -> simulation_pb2.SnapshotResponse:
        """Return the state of a session as JSON, with its hash. Raises SessionLost and grpc.aio.AioRpcError."""
        request = simulation_pb2.SnapshotRequest(session_id=session.session_id)
        with _lost():
            return await self._host(session.address).stub.Snapshot(request, timeout=TIMEOUT_S)

    async def forget(self, sessions: list[simulation_pb2.Session]) -> None:
        """End sessions that need no more steps. Raises grpc.aio.AioRpcError."""
        for address in {session.address for session in sessions}:
            ids = [session.session_id for session in sessions if session.address == address]
            await self._host(address).stub.Close(simulation_pb2.CloseRequest(session_ids=ids), timeout=TIMEOUT_S)

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.close()

    def _host(self, address: str) -> SimulationHost:
        wanted = address or self._address
        if wanted not in self._hosts:
            self._hosts[wanted] = SimulationHost(wanted, self._token)
        return self._hosts[wanted]

    async def _reset(self, tasks: list[trajectory_pb2.Task]) -> AsyncIterator[tuple[int, simulation_pb2.Session]]:
        request = simulation_pb2.ResetRequest(tasks=tasks)
        response = await self._host(self._address).stub.Reset(request, timeout=TIMEOUT_S)
        for place, session in enumerate(response.sessions):
            yield place, session


@contextmanager
def _lost() -> Iterator[None]:
    """Raise SessionLost where a session is not known."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        if error.code() != grpc.StatusCode.NOT_FOUND:
            raise
        raise SessionLost(errors.reason(error)) from error


def _task(claim: Claim) -> trajectory_pb2.Task:
    task, item = claim.order.task, claim.order.task.get("item")
    return trajectory_pb2.Task(
        environment=task["environment"], params_json=json.dumps(task.get("params") or {}), seed=task["seed"],
        item_json="" if item is None else json.dumps(item), content_hash=claim.order.task_hash,
        noise_json=json.dumps(task["noise"]) if task.get("noise") else "")


@dataclass(frozen=True)
class GroupAnswers:
    """Graded samples of a group, by their index."""

    claim: Claim
    samples: Mapping[int, Sent]


class GradingClient:
    """Has the reward service grade answers. Make it inside the running loop."""

    def __init__(self, settings: Settings) -> None:
        self._channel = channel(settings.addresses.reward, settings.stack_token)
        self._stub = reward_pb2_grpc.RewardServiceStub(self._channel)
        self._graders = OfRuns[GraderKey, GroupAnswers, list[reward_pb2.Grade]](
            lambda key: Batcher(lambda batch: self._grade(key, batch), calls=GRADING_CALLS, split=invalid))

    async def grade(self, group: GroupAnswers, grader_json: str) -> list[reward_pb2.Grade]:
        """Return the grade of each sample, in order; the service stores them. Raises grpc.aio.AioRpcError."""
        if not group.samples:
            return []
        key = (group.claim.tenant_id, group.claim.run_id, grader_json)
        with tracing.span("grade", samples=len(group.samples)):
            return await self._graders.of(key).ask(group)

    async def close(self) -> None:
        await self._channel.close(None)

    async def _grade(
        self, key: GraderKey, batch: list[GroupAnswers]
    ) -> AsyncIterator[tuple[int, list[reward_pb2.Grade]]]:
        tenant_id, run_id, grader_json = key
        items = [item for group in batch for item in _items(group)]
        request = reward_pb2.GradeRequest(tenant_id=tenant_id, run_id=run_id, grader_json=grader_json, items=items)
        timeout_s = TIMEOUT_S * (1 + len(items) / ANSWERS_PER_TIMEOUT)
        owners = [(place, index) for place, group in enumerate(batch) for index in range(len(group.samples))]
        grades: list[dict[int, reward_pb2.Grade]] = [{} for _ in batch]
        async for response in self._stub.GradeStream(reward_pb2.GradeStreamRequest(request=request), timeout=timeout_s):
            for item, grade in zip(response.places, response.grades, strict=True):
                place, index = owners[item]
                grades[place][index] = grade
                if len(grades[place]) == len(batch[place].samples):
                    yield place, [grades[place][each] for each in range(len(grades[place]))]


def score(grade: reward_pb2.Grade) -> float | None:
    """Return the score of a grade; None when its status masks the sample."""
    return grade.score if grade.HasField("score") else None


def _items(group: GroupAnswers) -> list[reward_pb2.GradeItem]:
    return [reward_pb2.GradeItem(
        group_id=group.claim.id, index=index, item_json=sent.item, output_text=sent.output, truncated=sent.truncated,
        conversation_json=sent.conversation, world_json=sent.world) for index, sent in group.samples.items()]
