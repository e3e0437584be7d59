"""One group from claim to graded trajectories: the paragraph of the architecture, as a coroutine."""

import asyncio
import itertools
import json
from dataclasses import dataclass

from hone.api import inference_pb2, reward_pb2, simulation_pb2, trajectory_pb2
from hone.spec.settings import Settings
from hone.store.database import AsyncDatabase
from hone.store.objects import Objects
from hone.trajectory.records import Call, Trajectory, VersionSpan
from hone.trajectory.tokens import Tokenizer
from services.rollout.claims import Claim
from services.rollout.engines import Engine, Engines
from services.rollout.journaling import Journal
from services.rollout.patience import Patience, Unavailable
from services.rollout.reward import STATUSES, Answers, Reward, grader_json, score
from services.rollout.simulation import Simulation
from services.rollout.tokenizers import Tokenizers

FINISH_REASONS = {number: name.removeprefix("FINISH_REASON_").lower()
                  for name, number in trajectory_pb2.FinishReason.items() if number}


@dataclass(frozen=True)
class Graded:
    """A group that only has to be stored."""

    claim: Claim
    trajectories: list[Trajectory]
    session_id: str


class Groups:
    """Everything a group needs on its way; made inside the running loop."""

    def __init__(self, database: AsyncDatabase, objects: Objects, settings: Settings, patience: Patience) -> None:
        self._patience = patience
        self._tokenizers = Tokenizers(database, objects)
        self._simulation, self._reward = Simulation(settings), Reward(settings)
        self._journal = Journal(database)
        self.engines = Engines(database, settings)
        self._request_ids = itertools.count()

    async def run(self, claim: Claim) -> Graded:
        """Start the episode, let the policy answer n times, have the answers graded.

        An answer is journaled before anyone sees it, and one that an earlier attempt journaled is not made again.
        Raises LeaseLost when the group is somebody else's by now.
        """
        keep = self._patience.keep
        session, tokenizer = await asyncio.gather(
            keep(claim, "simulation", lambda: self._simulation.reset(claim)),
            keep(claim, "the tokenizer", lambda: self._tokenizers.of(claim)))
        calls = await self._turn(claim, 0, session.observation, tokenizer)
        answers = Answers(claim, session.observation.item_json, calls)
        grader = grader_json(claim, session.observation.grader_json)
        grades = await keep(claim, "reward", lambda: self._reward.grade(answers, grader))
        return Graded(claim, _trajectories(answers, grades), session.session_id)

    async def forget(self, sessions: list[str]) -> None:
        """Let the simulation service forget sessions of groups that are done."""
        await self._simulation.forget(sessions)

    async def close(self) -> None:
        for part in (self.engines, self._simulation, self._reward):
            await part.close()

    async def _turn(
        self, claim: Claim, turn: int, seen: simulation_pb2.Observation, tokenizer: Tokenizer
    ) -> list[Call]:
        """Return every sample's call of this turn: journaled ones as they are, the others made now."""
        calls = {index: call for (index, number), call in claim.journaled.items() if number == turn}
        missing = [index for index in range(claim.n) if index not in calls]
        if missing:
            prompt_ids = tokenizer.prompt_ids([{"role": said.role, "content": said.content} for said in seen.messages])
            response, engine = await self._patience.keep(
                claim, "inference", lambda: self._generate(claim, turn, prompt_ids, missing[-1] + 1, tokenizer))
            made = {one.index: _call(claim, turn, prompt_ids, one, engine, tokenizer) for one in response.completions}
            fresh = {index: made[index] for index in missing}
            await self._patience.keep(claim, "the database", lambda: self._journal.keep(claim, fresh))
            calls.update(fresh)
        return [calls[index] for index in range(claim.n)]

    async def _generate(
        self, claim: Claim, turn: int, prompt_ids: list[int], n: int, tokenizer: Tokenizer
    ) -> tuple[inference_pb2.GenerateResponse, Engine]:
        """Ask for samples 0 … n - 1: their noise is theirs, so those that are there already come out equal."""
        engine = await self.engines.choose(claim.model_id)
        request = inference_pb2.GenerateRequest(
            request_id=f"{claim.id}.{claim.attempt}.{turn}.{next(self._request_ids)}", model_id=claim.model_id,
            version_id=claim.version_id or "", prompt_ids=prompt_ids, n=n, sampling=_sampling(claim, tokenizer),
            noise=trajectory_pb2.NoiseKey(seed=claim.seed, request=claim.request, call=turn),
            kv_on_update=inference_pb2.KV_ON_UPDATE_KEEP, min_version=0 if claim.version_id else claim.begun or 0)
        response = await engine.generate(request)
        if any(made.finish_reason == trajectory_pb2.FINISH_REASON_ABORT for made in response.completions):
            raise Unavailable(f"engine {engine.id} broke off")
        return response, engine


def _sampling(claim: Claim, tokenizer: Tokenizer) -> trajectory_pb2.Sampling:
    asked = claim.sampling
    return trajectory_pb2.Sampling(
        max_tokens=asked["max_tokens"], temperature=asked.get("temperature", 1.0), top_p=asked.get("top_p", 1.0),
        top_k=asked.get("top_k", 0), stop=asked.get("stop", []), stop_ids=tokenizer.stop_ids)


def _call(
    claim: Claim, turn: int, prompt_ids: list[int], made: trajectory_pb2.Completion, engine: Engine,
    tokenizer: Tokenizer,
) -> Call:
    ids = list(made.ids)
    return Call(
        index=turn, turn=turn, prompt_ids=prompt_ids, completion_ids=ids, logp_sample=list(made.logp_sample),
        finish_reason=FINISH_REASONS[made.finish_reason], train_mask=[True] * len(ids),
        versions=[VersionSpan(span.version_id, span.tokens) for span in made.versions],
        text=_cut(tokenizer.decode(ids), claim.sampling.get("stop", [])), sampling=claim.sampling, engine=engine.build)


def _cut(text: str, stops: list[str]) -> str:
    """Return `text` up to the first stop text in it."""
    return text[:min((text.find(stop) for stop in stops if stop in text), default=len(text))]


def _trajectories(answers: Answers, grades: list[reward_pb2.Grade]) -> list[Trajectory]:
    claim, item = answers.claim, json.loads(answers.item_json or "{}")
    return [
        Trajectory(group_id=claim.id, index=index, request_no=claim.request_no, task=claim.task,
                   task_hash=claim.task_hash, item=item, calls=[call], steps=[], status=STATUSES[grade.status],
                   score=score(grade), grade_id=grade.grade_id or None)
        for index, (call, grade) in enumerate(zip(answers.calls, grades, strict=True))]
