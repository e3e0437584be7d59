"""Sessions of people who play: the calls of the simulation service, each made where the session is held."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import grpc

from hone.api import simulation_pb2 as pb
from hone.api import simulation_pb2_grpc, trajectory_pb2
from hone.client.play_resources import ClosedPlay, Play, PlayedTask, PlayState, PlayStep
from hone.environments.messages import from_proto
from hone.graders.environment import components
from hone.rpc import errors
from hone.rpc.client import channel
from hone.rpc.session_ids import Place, SessionIds, UnknownSession
from hone.rpc.tenancy import KEY, TENANT
from hone.spec.problems import Problem
from hone.spec.settings import Settings
from services.gateway.admission.simulation_refusals import refusal
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.play.sources import PlaySource, own_problem, params_json

_TIMEOUT_S = 300.0
"""Seconds for one call: worlds elsewhere begin slowly, and models speak for users."""
MOST_STATE_BYTES = 256 * 1024
_SPLITS = {"train": pb.SPLIT_TRAIN, "held_out": pb.SPLIT_HELD_OUT}
_GONE = "This session does not exist: it was closed or not used for too long, or the process that held it has ended."


def _same(problem: Problem) -> Problem:
    return problem


@dataclass(frozen=True)
class PlaySessions:
    """The sessions of a tenant. Their ids are those of the door: any gateway finds the process that holds one."""

    settings: Settings
    session: TenantSession

    async def begin(self, source: PlaySource, voice: pb.Voice | None) -> Play:
        """Start a session of a task. Raises Invalid, TooMany, Conflict and Away."""
        task = await self._task(source)
        named = self._wrong_task(source)
        [opened] = (await self._ask(self._here, "Reset", pb.ResetRequest(tasks=[task]), named)).sessions
        place = Place(opened.address or self._here, opened.session_id)
        try:
            answered = [pb.StepResponse(observation=opened.observation)]
            answered += [one async for one in self._answered(place, answered[0], 0, voice)]
        except BaseException:
            await self._ask(place.address, "Close", pb.CloseRequest(session_ids=[place.session_id]))
            raise
        return Play(**_seen(answered, len(answered) - 1), id=self._ids.sealed(place, self.session.tenant_id),
                    task=_played(source, task), ttl_s=opened.ttl_s)

    async def step(self, session_id: str, index: int, action: str, voice: pb.Voice | None) -> PlayStep:
        """Take a step, and have a model find the words that the environment asks for after it.

        Raises NotFound, Invalid, Conflict and Away.
        """
        place = self._place(session_id)
        request = pb.StepRequest(session_id=place.session_id, index=index, action=action)
        taken = await self._ask(place.address, "Step", request)
        answered = [taken, *[one async for one in self._answered(place, taken, index + 1, voice)]]
        return _step(answered, index + len(answered))

    async def state(self, session_id: str) -> PlayState:
        """Return the present state of a session. Raises NotFound and Away."""
        place = self._place(session_id)
        shot = await self._ask(
            place.address, "Snapshot", pb.SnapshotRequest(session_id=place.session_id, with_observation=True))
        verified = await self._ask(place.address, "Verify", pb.VerifyRequest(session_id=place.session_id))
        item, size = json.loads(shot.observation.item_json or "{}"), len(shot.state_json.encode())
        return PlayState(
            id=session_id, environment=shot.task.environment, next_index=shot.next_index, done=shot.done,
            ended=_ended(shot.done, item), turns_left=shot.observation.turns_left,
            score=verified.score if verified.HasField("score") else None, components=components(item.get("components")),
            grader=json.loads(shot.observation.grader_json or "{}"), item=item, state_bytes=size,
            state=json.loads(shot.state_json) if size <= MOST_STATE_BYTES else None, state_hash=shot.state_hash)

    async def end(self, session_id: str) -> ClosedPlay:
        """Forget a session. Raises NotFound for an id that is none of the tenant's, and Away."""
        place = self._place(session_id)
        await self._ask(place.address, "Close", pb.CloseRequest(session_ids=[place.session_id]))
        return ClosedPlay(id=session_id)

    async def _task(self, source: PlaySource) -> trajectory_pb2.Task:
        params = params_json(source.source)
        if source.item is not None:
            task = trajectory_pb2.Task(environment=source.source.kind, params_json=params, item_json=source.item)
        else:
            request = pb.DrawTasksRequest(environment=source.source.kind, params_json=params, count=1,
                                          split=_SPLITS[source.split or "train"], seed=source.seed or 0)
            [task] = (await self._ask(self._here, "DrawTasks", request, self._wrong_task(source))).tasks
        noise = source.source.noise and source.source.noise.model_copy(update={"share": 1.0})
        drawn = noise.of_task(f"/{task.content_hash}") if noise else None
        if drawn is not None:
            task.noise_json = drawn.model_dump_json()
        return task

    def _wrong_task(self, source: PlaySource) -> Callable[[Problem], Problem]:
        """Return a function that names the fields of a task as the request does."""
        def named(problem: Problem) -> Problem:
            field = problem.field.removeprefix("tasks[0].")
            if field.startswith("item."):
                key = field.removeprefix("item.")
                return replace(problem, field="row", found=f"row {source.row}, where {key} is {problem.found}")
            return own_problem(replace(problem, field="split" if field == "count" else field))

        return named

    async def _answered(
        self, place: Place, taken: pb.StepResponse, index: int, voice: pb.Voice | None,
    ) -> Any:
        """Yield the step of each of the words that the environment asks for, until it asks for none."""
        while taken.observation.HasField("ask"):
            request = pb.FindWordsRequest(session_id=place.session_id, index=index, voice=voice)
            taken = (await self._ask(place.address, "FindWords", request)).taken
            index += 1
            yield taken

    def _place(self, session_id: str) -> Place:
        try:
            return self._ids.opened(session_id, self.session.tenant_id)
        except UnknownSession:
            raise NotFound(_GONE) from None

    @property
    def _ids(self) -> SessionIds:
        return SessionIds(self.settings.stack_token)

    @property
    def _here(self) -> str:
        return self.settings.addresses.simulation

    async def _ask(
        self, address: str, method: str, request: Any, named: Callable[[Problem], Problem] = _same,
    ) -> Any:
        """Return the answer of the process at an address. It serves the tenant as the door's callers."""
        metadata = (TENANT, self.session.tenant_id), (KEY, self.session.key_id)
        try:
            async with channel(address, self.settings.stack_token) as connection:
                call = getattr(simulation_pb2_grpc.SimulationServiceStub(connection), method)
                return await call(request, timeout=_TIMEOUT_S, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            raise refusal(error, _gone(error), named) from error


def _gone(error: grpc.aio.AioRpcError) -> str:
    reason = errors.reason(error)
    return _GONE if reason.startswith("session ") else f"The session is gone: {reason}"


def _played(source: PlaySource, task: trajectory_pb2.Task) -> PlayedTask:
    return PlayedTask(
        environment=source.source.kind, params=source.source.params, dataset=source.source.dataset, row=source.row,
        seed=source.seed, split=source.split, content_hash=task.content_hash,
        noise=json.loads(task.noise_json) if task.noise_json else None)


def _seen(answered: Iterable[pb.StepResponse], next_index: int) -> dict[str, Any]:
    """Return the words of several steps after each other, and the possible actions after the last step."""
    answered = list(answered)
    seen = answered[-1].observation
    return {"messages": [one for taken in answered for one in from_proto(taken.observation.messages)],
            "tools": json.loads(seen.tools_json or "[]"), "next_index": next_index, "turns_left": seen.turns_left,
            "admissible": list(seen.admissible.names) if seen.HasField("admissible") else None,
            "item": json.loads(seen.item_json or "{}"), "grader": json.loads(seen.grader_json or "{}")}


def _step(answered: list[pb.StepResponse], next_index: int) -> PlayStep:
    """Return a step with those of the words that were found for it: what pays for it is in the first."""
    first, last, seen = answered[0], answered[-1], _seen(answered, next_index)
    noise = next((one.injection_json for one in answered if one.injection_json), "")
    return PlayStep(
        **seen, done=last.done, ended=_ended(last.done, seen["item"]), valid=first.valid,
        effect=first.effect if first.HasField("effect") else None,
        reward=first.reward if first.HasField("reward") else None, rules=dict(first.rules),
        injection=json.loads(noise) if noise else None)


def _ended(done: bool, item: dict[str, Any]) -> str | None:
    """Return why an episode has ended: what its item says, where it says anything."""
    if not done:
        return None
    reason = item.get("reason")
    return reason if isinstance(reason, str) and reason else "done"
