"""The way of a group from its claim to ready rows: start, first calls, turns, grades, teacher's scores, storing."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

from psycopg.types.json import Jsonb

from hone.api import reward_pb2, simulation_pb2
from hone.crashpoints import reach
from hone.environments.contract import Message
from hone.environments.messages import from_proto
from hone.ids import new
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase, AsyncTransaction
from hone.store.objects import Objects
from hone.telemetry import metrics, tracing
from hone.text.conversation import content_text, with_system
from hone.trajectory import parts
from hone.trajectory.records import PREVIEW, Call, Trajectory
from services.rollout.calls import CallRequest, Journal, Sampler, TeacherScorer
from services.rollout.claims import Claim
from services.rollout.clients import (
    STATUSES,
    FinalAnswer,
    GradingClient,
    GroupAnswers,
    SimulationClient,
    grader_json,
    score,
)
from services.rollout.engines import Engines
from services.rollout.episodes import Episode, Episodes, HarnessSetup, PrivilegedContexts
from services.rollout.retry import Retry
from services.rollout.tokenizers import RoleTokenizers, Tokenizers, Unreadable

CHARACTERS = 1024
"""More characters than any token stands for, but for runs of one character."""
EVENT_CHARACTERS = 1000
"""Longest message of an event."""


@dataclass(frozen=True)
class GradedGroup:
    """A group that only has to be stored."""

    claim: Claim
    trajectories: list[Trajectory]
    sessions: list[simulation_pb2.Session]
    place: tracing.Place | None = None  # in a trace
    masked: dict[int, str] = field(default_factory=dict)  # why a sample has no score, by its index


@dataclass(frozen=True)
class GroupStart:
    """The common start of a group's samples: the task's session, the tokenizers and the first prompt."""

    claim: Claim
    tokenizers: RoleTokenizers
    session: simulation_pb2.Session
    positions: int  # tokens that engines hold

    @cached_property
    def setup(self) -> HarnessSetup:
        return HarnessSetup.of(self.claim, self.session.observation, self.positions)

    @cached_property
    def contexts(self) -> PrivilegedContexts | None:
        if not self.claim.order.privileged:
            return None
        return PrivilegedContexts.of_claim(
            self.claim, self.session.observation.item_json, self.tokenizers.policy,
            self.claim.room("policy", self.positions), self.setup.shown)

    @cached_property
    def asked(self) -> list[Message]:
        """The policy's first prompt. A system message of the harness opens it even where the model reads none."""
        seen, opening = from_proto(self.session.observation.messages), self.setup.opening(self.session.observation)
        added = opening[:len(opening) - len(seen)]
        if [one["role"] for one in added] != ["system"] or "system" not in self.tokenizers.policy.lacks:
            return opening
        return [dict(one) for one in with_system(seen, content_text(added[0]), system=False)]

    @property
    def single_turn(self) -> bool:
        """Whether the policy's first answer ends the episode and the environment has no part in judging it."""
        seen = self.session.observation
        judges = "verified" in json.loads(seen.item_json or "{}")
        return seen.turns_left == 1 and not seen.HasField("ask") and not judges

    async def first_request(self) -> CallRequest:
        """Return the first call of every sample. Raises Unreadable."""
        seen = self.session.observation
        role, said, shown = ((seen.ask.role, from_proto(seen.ask.messages), []) if seen.HasField("ask")
                             else ("policy", self.asked, self.setup.shown))
        self._check_characters(role, len(json.dumps(said, ensure_ascii=False)))
        prompt_ids = await self.tokenizers.first_prompt_ids(role, said, shown)
        self._check_room(role, len(prompt_ids), self.claim.order.sampling["max_tokens"])
        return CallRequest(self.claim, self.tokenizers.of(role), 0, prompt_ids, role=role)

    def _check_characters(self, role: str, found: int) -> None:
        """Raise Unreadable for a prompt that is too long whatever its tokens are, before it is tokenized."""
        most = CHARACTERS * self.claim.room(role, self.positions)
        if found > most:
            raise Unreadable(
                f"the {role}'s first prompt is too long: found {found} characters, expected at most {most}")

    def _check_room(self, role: str, prompt: int, answer: int) -> None:
        """Raise Unreadable if a prompt and its answer have more tokens than a role's model, or an engine, can hold."""
        room = self.claim.room(role, self.positions)
        if prompt + answer > room:
            whose = (f"the max_position_embeddings of the {role}'s model" if room < self.positions
                     else "the positions of an engine (HONE_ENGINE_MAX_TOKENS)")
            raise Unreadable(f"the {role}'s first prompt is too long: found {prompt} tokens, and {answer} of "
                             f"max_tokens, expected at most {room} together, {whose}")

    def episode(self, index: int, session: simulation_pb2.Session) -> Episode:
        """Return the start of a sample in a session of its own."""
        return Episode(self.claim, index, self.tokenizers, self.setup, session, self.asked,
                       session.observation.item_json, contexts=self.contexts)

    def all_finished(self, calls: list[Call]) -> list[Episode]:
        """Return samples that end with their first calls. Raises Unreadable."""
        return [self.finished(index, call) for index, call in enumerate(calls)]

    def finished(self, index: int, call: Call) -> Episode:
        """Return a sample that ends with its first call. Raises Unreadable."""
        episode = self.episode(index, self.session)
        episode.add(call)
        episode.ended = "done"
        return episode


class Groups:
    """Makes the samples of claimed groups. Make it inside the running loop."""

    def __init__(self, database: AsyncDatabase, objects: Objects, settings: Settings, retry: Retry) -> None:
        self._retry, self._positions = retry, settings.engine.max_tokens
        self._tokenizers = Tokenizers(database, objects)
        self._simulation, self._grading = SimulationClient(settings), GradingClient(settings)
        self.engines = Engines(database, settings)
        self._sampler = Sampler(self.engines, Journal(database), retry)
        self._episodes = Episodes(self._simulation, self._sampler, retry)
        self._teacher = TeacherScorer(self.engines, retry)

    async def run(self, claim: Claim) -> GradedGroup:
        """Sample, play and grade a group.

        Raises ClaimLost when the group is no longer ours, also because it was refused for good; TimeoutError at its
        deadline.
        """
        with tracing.span("group", run_id=claim.run_id, group_id=claim.id, attempt=claim.attempt,
                          samples=claim.order.n):
            async with asyncio.timeout(claim.remaining_s):
                try:
                    return await self._run(claim)
                except Unreadable as error:
                    await self._retry.refuse(claim, str(error))

    async def _run(self, claim: Claim) -> GradedGroup:
        session, tokenizers = await asyncio.gather(
            self._session(claim),
            self._retry.until_answered(claim, "the tokenizer", lambda: self._tokenizers.of(claim)))
        start = GroupStart(claim, tokenizers, session, self._positions)
        calls = await self._sampler.first_calls(await start.first_request())
        episodes = await tokenizers.work(start.all_finished, calls) if start.single_turn else (
            await self._play(start, calls))
        grades, scored = await asyncio.gather(self._grade(start, episodes), self._with_teacher(claim, episodes))
        return _graded(claim, episodes, grades, scored)

    async def forget(self, sessions: list[simulation_pb2.Session]) -> None:
        """End the sessions of groups that are stored. Raises grpc.aio.AioRpcError."""
        await self._simulation.forget(sessions)

    async def close(self) -> None:
        for part in (self.engines, self._simulation, self._grading):
            await part.close()

    async def _session(self, claim: Claim) -> simulation_pb2.Session:
        return await self._retry.until_answered(claim, "simulation", lambda: self._simulation.reset(claim))

    async def _play(self, start: GroupStart, calls: list[Call]) -> list[Episode]:
        """Play every sample from its first call on, each in a session of its own."""
        sessions = [start.session, *await asyncio.gather(*(self._session(start.claim) for _ in calls[1:]))]
        episodes = [start.episode(index, session) for index, session in enumerate(sessions)]
        return list(await asyncio.gather(*map(self._episodes.play, episodes, calls)))

    async def _grade(self, start: GroupStart, episodes: list[Episode]) -> dict[int, reward_pb2.Grade]:
        """Return the grade of each sample that is not masked, by its index."""
        group = GroupAnswers(start.claim, [final_answer(episode) for episode in episodes if not episode.masked])
        grader = grader_json(start.claim, start.session.observation.grader_json)
        grades = await self._retry.until_answered(start.claim, "reward", lambda: self._grading.grade(group, grader))
        return {answer.index: grade for answer, grade in zip(group.answers, grades, strict=True)}

    async def _with_teacher(self, claim: Claim, episodes: list[Episode]) -> dict[int, list[Call]]:
        """Return every sample's calls by its index, with a teacher's scores where the sample is not masked."""
        trained = [episode for episode in episodes if not episode.masked]
        scored = await self._teacher.scored(claim, [episode.calls for episode in trained])
        known = {episode.index: calls for episode, calls in zip(trained, scored, strict=True)}
        return {episode.index: known.get(episode.index, episode.calls) for episode in episodes}


def final_answer(episode: Episode) -> FinalAnswer:
    """Return the answer that is graded: the policy's last one, with the part of it that its prompt holds."""
    last = episode.answered or episode.calls[-1]
    truncated = last.finish_reason == "length" or episode.ended != "done"
    return FinalAnswer(episode.index, episode.item_json, episode.answer(last), truncated)


def _graded(
    claim: Claim, episodes: list[Episode], grades: dict[int, reward_pb2.Grade], scored: dict[int, list[Call]]
) -> GradedGroup:
    sessions = {one.session.session_id: one.session for one in episodes}
    items = {text: json.loads(text or "{}") for text in {one.item_json for one in episodes}}
    trajectories = [trajectory(one, items[one.item_json], scored[one.index], grades.get(one.index))
                    for one in episodes]
    masked = {one.index: one.masked for one in episodes if one.masked}
    return GradedGroup(claim, trajectories, list(sessions.values()), tracing.here(), masked)


def trajectory(
    episode: Episode, item: dict[str, Any], calls: list[Call], grade: reward_pb2.Grade | None
) -> Trajectory:
    """Return the record of a sample that has ended; without a grade it is masked as infra_error."""
    claim, order = episode.claim, episode.claim.order
    return Trajectory(
        group_id=claim.id, index=episode.index, request_no=order.request_no, task=order.task,
        task_hash=order.task_hash, item=item, calls=calls,
        steps=episode.steps, status="infra_error" if grade is None else STATUSES[grade.status],
        score=None if grade is None else score(grade), grade_id=None if grade is None else grade.grade_id or None,
        harness=order.harness, ended=episode.ended)


class Store:
    """Stores graded groups: one Parquet part for each run's groups of a wave, then the rows that name it."""

    def __init__(self, database: AsyncDatabase, objects: Objects, retry: Retry) -> None:
        self._database, self._objects, self._retry = database, objects, retry

    async def keep(self, wave: list[GradedGroup]) -> None:
        """Make the groups ready. A group whose claim is no longer ours is left out: another worker was first.

        Raises ClaimLost when the object store or the database was away until the claims were lost.
        """
        by_run = sorted(wave, key=lambda graded: (graded.claim.run_id, graded.claim.id))
        for run_id, groups in groupby(by_run, key=lambda graded: graded.claim.run_id):
            together = list(groups)
            with tracing.together([graded.place for graded in together]), tracing.span("store", groups=len(together)):
                await self._keep(run_id, together)

    async def _keep(self, run_id: str, groups: list[GradedGroup]) -> None:
        part = f"runs/{run_id}/parts/{new('part')}.parquet"
        rows = [trajectory for graded in groups for trajectory in graded.trajectories]
        data = await asyncio.to_thread(parts.encode, rows)
        first, retry = groups[0].claim, self._retry.until_answered
        await retry(first, "the object store", lambda: asyncio.to_thread(self._objects.put, part, data))
        reach("part.object-row")
        await retry(first, "the database", lambda: self._commit(run_id, part, groups, rows))
        reach("ready.after")

    async def _commit(self, run_id: str, part: str, groups: list[GradedGroup], rows: list[Trajectory]) -> None:
        claims = [graded.claim for graded in groups]
        async with self._database.transaction() as transaction:
            made = await transaction.all(
                "groups.make_ready", part=part, group_ids=[claim.id for claim in claims],
                attempts=[claim.attempt for claim in claims], versions=[json.dumps(_versions(one)) for one in groups])
            ready = {row["id"] for row in made}
            metrics.GROUPS_READY.inc(len(ready))
            if ready:
                stored = [(row, one) for row, one in enumerate(rows) if one.group_id in ready]
                await _index(transaction, claims[0].tenant_id, run_id, part, stored)
                await _record_masked(transaction, (graded for graded in groups if graded.claim.id in ready))
                await transaction.run("server.notify", channel="groups", payload=run_id)


async def _record_masked(transaction: AsyncTransaction, groups: Iterable[GradedGroup]) -> None:
    for claim, index, reason in ((one.claim, index, reason) for one in groups for index, reason in one.masked.items()):
        message = f"{claim.order.request}, sample {index} has no score: {reason}"
        await transaction.run(
            "events.add", tenant_id=claim.tenant_id, run_id=claim.run_id, kind="rollout.masked",
            message=message[:EVENT_CHARACTERS].replace("\0", ""), data=Jsonb({"group_id": claim.id, "index": index}))


def _versions(graded: GradedGroup) -> list[str]:
    """Return the ids of the versions that sampled the policy's tokens of a group."""
    calls = (call for trajectory in graded.trajectories for call in trajectory.calls if call.role == "policy")
    return sorted({span.version_id for call in calls for span in call.versions})


def policy_calls(trajectory: Trajectory) -> list[Call]:
    """Return the policy's calls; all calls if the policy made none."""
    return [call for call in trajectory.calls if call.role == "policy"] or trajectory.calls


async def _index(
    transaction: AsyncTransaction, tenant_id: str, run_id: str, part: str, stored: list[tuple[int, Trajectory]]
) -> None:
    """Insert a row for each trajectory of a part, and count their tokens as usage."""
    trajectories = [trajectory for _, trajectory in stored]
    completions = [sum(len(call.completion_ids) for call in one.calls) for one in trajectories]
    prompts = [sum(len(call.prompt_ids) for call in one.calls) for one in trajectories]
    last = [policy_calls(one)[-1] for one in trajectories]
    await transaction.run(
        "trajectories.add", tenant_id=tenant_id, run_id=run_id, part=part, rows=[row for row, _ in stored],
        group_ids=[one.group_id for one in trajectories], indices=[one.index for one in trajectories],
        prompt_tokens=prompts,
        completion_tokens=[sum(len(call.completion_ids) for call in policy_calls(one)) for one in trajectories],
        finish_reasons=[call.finish_reason for call in last],
        statuses=[one.status for one in trajectories], scores=[one.score for one in trajectories],
        previews=[call.text[:PREVIEW].replace("\0", "") for call in last])
    await transaction.run("usage.add", run_id=run_id, kinds=["prompt_tokens", "completion_tokens"],
                          amounts=[float(sum(prompts)), float(sum(completions))])
