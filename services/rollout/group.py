"""One group from claim to graded trajectories: the paragraph of the architecture, as a coroutine."""

import asyncio
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hone.api import reward_pb2, simulation_pb2
from hone.environments.contract import Message
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import Objects
from hone.telemetry import tracing
from hone.trajectory.records import Call, Trajectory
from services.rollout.claims import Claim
from services.rollout.contexts import Contexts
from services.rollout.engines import Engines
from services.rollout.episodes import Acting, Episode, Episodes, messages
from services.rollout.journaling import Journal
from services.rollout.patience import Patience
from services.rollout.reward import STATUSES, Answer, Answers, Reward, grader_json, score
from services.rollout.sampling import Question, Sampler
from services.rollout.scoring import Scorer
from services.rollout.simulation import Simulation
from services.rollout.tokenizers import Speakers, Tokenizers, Unreadable


@dataclass(frozen=True)
class Graded:
    """A group that only has to be stored."""

    claim: Claim
    trajectories: list[Trajectory]
    sessions: list[simulation_pb2.Session]
    place: tracing.Place | None = None  # in a trace
    masked: dict[int, str] = field(default_factory=dict)  # why a sample has no score, by its index


@dataclass(frozen=True)
class Start:
    """How a group's samples begin."""

    claim: Claim
    speakers: Speakers
    session: simulation_pb2.Session
    positions: int  # that engines hold

    @cached_property
    def acting(self) -> Acting:
        return Acting.of(self.claim, self.session.observation, self.positions)

    @cached_property
    def contexts(self) -> Contexts | None:
        if not self.claim.order.privileged:
            return None
        return Contexts.of(self.claim, self.session.observation.item_json, self.speakers.policy, self.positions)

    @cached_property
    def asked(self) -> list[Message]:
        return self.acting.opening(self.session.observation)

    @property
    def single_turn(self) -> bool:
        """Whether the policy's first answer is its last and the environment has no part in judging it."""
        seen = self.session.observation
        judges = "verified" in json.loads(seen.item_json or "{}")
        return seen.turns_left == 1 and not seen.HasField("ask") and not judges

    def question(self) -> Question:
        """Return what the first call of every sample is asked. Raises Unreadable."""
        seen = self.session.observation
        role, said = (seen.ask.role, messages(seen.ask.messages)) if seen.HasField("ask") else ("policy", self.asked)
        prompt_ids = self.speakers.prompt_ids(role, said)
        self._fits(role, len(prompt_ids) + self.claim.order.sampling["max_tokens"])
        return Question(self.claim, self.speakers.of(role), 0, prompt_ids, role=role)

    def _fits(self, role: str, tokens: int) -> None:
        """Raise Unreadable where a role's own model cannot read so many; what an engine cannot hold it refuses itself.
        """
        room = self.claim.room(role, self.positions)
        if room < self.positions and tokens > room:
            raise Unreadable(f"{role}'s model refuses: found {tokens} tokens of the first prompt with its answer, "
                             f"expected at most {room}, its positions")

    def episode(self, index: int, session: simulation_pb2.Session) -> Episode:
        """Return a sample in a session of its own."""
        return Episode(self.claim, index, self.speakers, self.acting, session, self.asked,
                       session.observation.item_json, contexts=self.contexts)

    def over(self, index: int, call: Call) -> Episode:
        """Return a sample whose only call has been made."""
        episode = self.episode(index, self.session)
        episode.add(call)
        episode.ended = "done"
        return episode


class Groups:
    """Everything a group needs on its way; made inside the running loop."""

    def __init__(self, database: AsyncDatabase, objects: Objects, settings: Settings, patience: Patience) -> None:
        self._patience, self._positions = patience, settings.engine.max_tokens
        self._tokenizers = Tokenizers(database, objects)
        self._simulation, self._reward = Simulation(settings), Reward(settings)
        self.engines = Engines(database, settings)
        self._sampler = Sampler(self.engines, Journal(database), patience)
        self._episodes = Episodes(self._simulation, self._sampler, patience)
        self._scorer = Scorer(self.engines, patience)

    async def run(self, claim: Claim) -> Graded:
        """Start the episode, let the policy act in n samples of it, have the ends graded and a teacher's word on them.

        A call is journaled before anyone sees it, and one that an earlier attempt journaled is not made again.
        Raises ClaimLost when the group is somebody else's by now, or is refused for good.
        """
        try:
            return await self._run(claim)
        except Unreadable as error:
            await self._patience.refuse(claim, str(error))

    async def _run(self, claim: Claim) -> Graded:
        keep = self._patience.keep
        session, speakers = await asyncio.gather(
            keep(claim, "simulation", lambda: self._simulation.reset(claim)),
            keep(claim, "the tokenizer", lambda: self._tokenizers.of(claim)))
        start = Start(claim, speakers, session, self._positions)
        calls = await self._sampler.first(start.question())
        episodes = [start.over(index, call) for index, call in enumerate(calls)] if start.single_turn else (
            await self._played(start, calls))
        sessions = {one.session.session_id: one.session for one in episodes}
        grades, scored = await asyncio.gather(self._grades(start, episodes), self._scored(claim, episodes))
        items = {text: json.loads(text or "{}") for text in {one.item_json for one in episodes}}
        trajectories = [_trajectory(one, items[one.item_json], scored[one.index], grades.get(one.index))
                        for one in episodes]
        masked = {one.index: one.masked for one in episodes if one.masked}
        return Graded(claim, trajectories, list(sessions.values()), tracing.here(), masked)

    async def forget(self, sessions: list[simulation_pb2.Session]) -> None:
        """Let the simulation service forget sessions of groups that are done."""
        await self._simulation.forget(sessions)

    async def close(self) -> None:
        for part in (self.engines, self._simulation, self._reward):
            await part.close()

    async def _played(self, start: Start, calls: list[Call]) -> list[Episode]:
        """Play every sample in a session of its own."""
        more = (self._patience.keep(start.claim, "simulation", lambda: self._simulation.reset(start.claim))
                for _ in calls[1:])
        sessions = [start.session, *await asyncio.gather(*more)]
        episodes = [start.episode(index, session) for index, session in enumerate(sessions)]
        return list(await asyncio.gather(*map(self._episodes.play, episodes, calls)))

    async def _grades(self, start: Start, episodes: list[Episode]) -> dict[int, reward_pb2.Grade]:
        """Have all graded, by their index, but those that are masked: these stay without a score."""
        answers = Answers(start.claim, [_answer(episode) for episode in episodes if not episode.masked])
        grader = grader_json(start.claim, start.session.observation.grader_json)
        grades = await self._patience.keep(start.claim, "reward", lambda: self._reward.grade(answers, grader))
        return {answer.index: grade for answer, grade in zip(answers.answers, grades, strict=True)}

    async def _scored(self, claim: Claim, episodes: list[Episode]) -> dict[int, list[Call]]:
        """Return every sample's calls by its index, with a teacher's word on those that may train."""
        judged = [episode for episode in episodes if not episode.masked]
        scored = await self._scorer.scored(claim, [episode.calls for episode in judged])
        known = {episode.index: calls for episode, calls in zip(judged, scored, strict=True)}
        return {episode.index: known.get(episode.index, episode.calls) for episode in episodes}


def _answer(episode: Episode) -> Answer:
    last = episode.answered or episode.calls[-1]
    truncated = last.finish_reason == "length" or episode.ended != "done"
    return Answer(episode.index, episode.item_json, last.text, truncated)


def _trajectory(
    episode: Episode, item: dict[str, Any], calls: list[Call], grade: reward_pb2.Grade | None
) -> Trajectory:
    claim = episode.claim
    return Trajectory(
        group_id=claim.id, index=episode.index, request_no=claim.order.request_no, task=claim.order.task,
        task_hash=claim.order.task_hash, item=item, calls=calls,
        steps=episode.steps, status="infra_error" if grade is None else STATUSES[grade.status],
        score=None if grade is None else score(grade), grade_id=None if grade is None else grade.grade_id or None,
        harness=claim.order.harness, ended=episode.ended)
