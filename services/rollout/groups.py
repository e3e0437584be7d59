"""The way of a group from its claim to ready rows: start, first calls, turns, grades, teacher's scores, storing."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from psycopg.types.json import Jsonb

from hone.api import reward_pb2, simulation_pb2
from hone.catalogue import packages
from hone.crashpoints import reach
from hone.graders.graded_calls import with_scores
from hone.graders.sample import Reads, answering, sent
from hone.harnesses.offers import MOST_READ
from hone.harnesses.seat import HarnessFailed, Kept
from hone.harnesses.spans import named
from hone.ids import new
from hone.spec.problems import Invalid
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase, AsyncTransaction
from hone.store.objects import Objects
from hone.telemetry import metrics, tracing
from hone.text.conversation import prompt_text
from hone.trajectory import parts
from hone.trajectory.records import PREVIEW, Call, Trajectory
from services.rollout.branches import Episode
from services.rollout.calls import Journal, Sampler, TeacherScorer
from services.rollout.claims import Claim
from services.rollout.clients import STATUSES, GradingClient, GroupAnswers, SimulationClient, score
from services.rollout.engines import Engines
from services.rollout.episodes import Episodes
from services.rollout.retry import Retry
from services.rollout.start import GroupStart
from services.rollout.tokenizers import Tokenizers, Unreadable
from services.rollout.voices import Voices
from services.rollout.waves import Grades, WaveRecord

EVENT_CHARACTERS = 1000
"""Longest message of an event."""
MOST_PROMPTED = 65_536
"""Tasks whose text a worker knows to be stored."""


@dataclass(frozen=True)
class GradedGroup:
    """A group that only has to be stored."""

    claim: Claim
    trajectories: list[Trajectory]
    sessions: list[simulation_pb2.Session]
    place: tracing.Place | None = None  # in a trace
    masked: dict[int, str] = field(default_factory=dict)  # why a sample has no score, by its index
    prompt: str = ""  # what the policy is asked; "": nothing that the value service could read


class Groups:
    """Makes the samples of claimed groups. Make it inside the running loop."""

    def __init__(self, database: AsyncDatabase, objects: Objects, settings: Settings, retry: Retry) -> None:
        self._retry, self._database, self._positions = retry, database, settings.engine.max_tokens
        self._tokenizers = Tokenizers(database, objects)
        self._simulation, self._grading = SimulationClient(settings), GradingClient(settings)
        self.engines = Engines(database, settings)
        journal = Journal(database)
        self._voices = Voices(settings, database, journal, retry)
        self._episodes = Episodes(self._simulation, Sampler(self.engines, journal, retry), retry, self._voices)
        self._teacher, self._waves = TeacherScorer(self.engines, retry), WaveRecord(database, retry)

    async def run(self, claim: Claim) -> GradedGroup:
        """Sample, play and grade a group.

        Raises ClaimLost when the group is no longer ours, also because it was refused for good; TimeoutError at its
        deadline.
        """
        with tracing.span("group", run_id=claim.run_id, group_id=claim.id, attempt=claim.attempt,
                          samples=claim.order.n):
            async with asyncio.timeout(claim.remaining_s):
                if lacking := packages.lacking(claim.order.packages, "rollout worker"):
                    await self._retry.refuse(claim, lacking)
                try:
                    return await self._run(claim)
                except Unreadable as error:
                    await self._retry.refuse(claim, str(error))
                except Invalid as error:
                    await self._retry.refuse(claim, f"grader: {error}")
                except HarnessFailed as error:
                    await self._retry.refuse(claim, f"harness {claim.order.harness}: {error}")

    async def _run(self, claim: Claim) -> GradedGroup:
        session, tokenizers, collections = await asyncio.gather(
            self._retry.until_answered(claim, "simulation", lambda: self._simulation.reset(claim)),
            self._retry.until_answered(claim, "the tokenizer", lambda: self._tokenizers.of(claim)),
            self._collections(claim))
        start = GroupStart(claim, tokenizers, session, self._positions, collections)
        if claim.order.waves is not None:
            episodes, graded = await self._waves.play(claim, claim.order.waves, lambda some: self._wave(start, some))
            return _graded(claim, episodes, graded, await self._with_teacher(claim, episodes))
        episodes = await self._episodes.play(start)
        grades, scored = await asyncio.gather(self._grade(start, episodes), self._with_teacher(claim, episodes))
        return _graded(claim, episodes, grades, scored)

    async def _wave(self, start: GroupStart, samples: range) -> tuple[list[Episode], Grades]:
        episodes = await self._episodes.play(start, samples)
        return episodes, await self._grade(start, episodes)

    async def forget(self, sessions: list[simulation_pb2.Session]) -> None:
        """End the sessions of groups that are stored. Raises grpc.aio.AioRpcError."""
        await self._simulation.forget(sessions)

    async def close(self) -> None:
        for part in (self.engines, self._simulation, self._grading, self._voices):
            await part.close()

    async def _collections(self, claim: Claim) -> dict[str, list[Kept]]:
        """Return the items of each collection that the order pins."""
        pinned = claim.order.collections
        rows = await self._retry.until_answered(claim, "the database", lambda: self._database.all(
            "collections.read", run_id=claim.run_id, names=list(pinned), versions=list(pinned.values()), most=MOST_READ,
        )) if pinned else []
        return {name: [Kept(row["id"], row["body"]) for row in rows if row["name"] == name] for name in pinned}

    async def _grade(self, start: GroupStart, episodes: list[Episode]) -> dict[int, reward_pb2.Grade]:
        """Return the grade of each sample that is not masked, by its index."""
        worlds = await self._episodes.worlds(start, episodes) if Reads.WORLD in start.grader.reads else {}
        group = GroupAnswers(start.claim, {
            one.index: sent(one.calls, one.steps, one.ended, one.item_json, start.grader.reads,
                            named(start.params.spans), worlds.get(one.index, ""))
            for one in episodes if not one.masked})
        grades = await self._retry.until_answered(
            start.claim, "reward", lambda: self._grading.grade(group, start.grader.json))
        return dict(zip(group.samples, grades, strict=True))

    async def _with_teacher(self, claim: Claim, episodes: list[Episode]) -> dict[int, list[Call]]:
        """Return every sample's calls by its index, with a teacher's scores where the sample is not masked."""
        trained = [episode for episode in episodes if not episode.masked]
        scored = await self._teacher.scored(claim, [episode.calls for episode in trained])
        known = {episode.index: calls for episode, calls in zip(trained, scored, strict=True)}
        return {episode.index: known.get(episode.index, episode.calls) for episode in episodes}


def _graded(
    claim: Claim, episodes: list[Episode], grades: Grades, scored: dict[int, list[Call]]
) -> GradedGroup:
    sessions = {session.session_id: session for one in episodes for session in one.sessions}
    items = {text: json.loads(text or "{}") for text in {one.item_json for one in episodes}}
    trajectories = [trajectory(one, items[one.item_json], scored[one.index], grades.get(one.index))
                    for one in episodes]
    masked = {one.index: one.masked for one in episodes if one.masked}
    asked = prompt_text(episodes[0].start.said) if episodes else ""
    return GradedGroup(claim, trajectories, list(sessions.values()), tracing.here(), masked, asked)


def trajectory(
    episode: Episode, item: dict[str, Any], calls: list[Call], grade: reward_pb2.Grade | None
) -> Trajectory:
    """Return the record of a sample that has ended; without a grade it is masked as infra_error."""
    claim, order = episode.start.claim, episode.start.claim.order
    if grade is not None and (grade.turns or grade.steps):
        calls = with_scores(calls, grade, episode.start.tokenizers.policy)
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
        self._prompted = OrderedDict[tuple[str, str], None]()  # runs and tasks whose text is stored

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
        new = [graded for graded in groups if (run_id, graded.claim.order.task_hash) not in self._prompted]
        async with self._database.transaction() as transaction:
            made = await transaction.all(
                "groups.make_ready", part=part, group_ids=[claim.id for claim in claims],
                attempts=[claim.attempt for claim in claims], versions=[json.dumps(_versions(one)) for one in groups],
                asked=[graded.claim.id for graded in new], texts=[graded.prompt for graded in new])
            ready = {row["id"] for row in made}
            metrics.GROUPS_READY.inc(len(ready))
            if ready:
                stored = [(row, one) for row, one in enumerate(rows) if one.group_id in ready]
                await _index(transaction, claims[0].tenant_id, run_id, part, stored)
                await _record_masked(transaction, (graded for graded in groups if graded.claim.id in ready))
                await transaction.run("server.notify", channel="groups", payload=run_id)
        self._remember(run_id, [one.claim.order.task_hash for one in new if one.claim.id in ready and one.prompt])

    def _remember(self, run_id: str, tasks: Iterable[str]) -> None:
        """Keep in mind that the texts of these tasks are stored, so that later groups of them need not send theirs."""
        self._prompted.update(dict.fromkeys((run_id, task) for task in tasks))
        while len(self._prompted) > MOST_PROMPTED:
            self._prompted.popitem(last=False)


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


async def _index(
    transaction: AsyncTransaction, tenant_id: str, run_id: str, part: str, stored: list[tuple[int, Trajectory]]
) -> None:
    """Insert a row for each trajectory of a part, and count their tokens as usage."""
    trajectories = [trajectory for _, trajectory in stored]
    completions = [sum(len(call.completion_ids) for call in one.calls) for one in trajectories]
    prompts = [sum(len(call.prompt_ids) for call in one.calls) for one in trajectories]
    last = [answering(one.calls) if one.calls else None for one in trajectories]  # None: nobody said a first word
    await transaction.run(
        "trajectories.add", tenant_id=tenant_id, run_id=run_id, part=part, rows=[row for row, _ in stored],
        group_ids=[one.group_id for one in trajectories], indices=[one.index for one in trajectories],
        prompt_tokens=prompts,
        completion_tokens=[sum(len(call.completion_ids) for call in one.calls if call.role == "policy")
                           for one in trajectories],
        finish_reasons=[call.finish_reason if call else one.ended
                        for call, one in zip(last, trajectories, strict=True)],
        statuses=[one.status for one in trajectories], scores=[one.score for one in trajectories],
        previews=[call.text[:PREVIEW].replace("\0", "") if call else "" for call in last])
    await transaction.run("usage.add", run_id=run_id, kinds=["prompt_tokens", "completion_tokens"],
                          amounts=[float(sum(prompts)), float(sum(completions))])
