"""Calls of models: an engine makes them, the journal keeps them, and a teacher scores the policy's.

A call is journaled before anything else sees it. A later claim of the same group does not make it again.
"""

import itertools
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from hone.api import inference_pb2, trajectory_pb2
from hone.crashpoints import reach
from hone.harnesses.seat import POLICY, Ask
from hone.store.database import AsyncDatabase
from hone.text.model_text import ModelText
from hone.text.stops import cut
from hone.trajectory import journal
from hone.trajectory.order import Role
from hone.trajectory.packing import runs
from hone.trajectory.records import Call, Scored, Step, Turn, VersionSpan
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim, ClaimLost
from services.rollout.engines import Engine, Engines
from services.rollout.retry import Retry, Unavailable

FINISH_REASONS = {number: name.removeprefix("FINISH_REASON_").lower()
                  for name, number in trajectory_pb2.FinishReason.items() if number}
TEACHER = "teacher"


@dataclass(frozen=True)
class CallRequest:
    """A call to be made: what its harness asks, its prompt, and its place among the seat's calls."""

    claim: Claim
    tokenizer: ModelText  # of the model that answers
    ask: Ask
    prompt_ids: list[int]
    sampling: dict[str, Any]
    index: int = 0  # number of earlier calls at the seat
    parent: str = ""  # number of the call before; empty: there is none
    given: list[int] | None = None  # the ids of an answer that is not sampled

    @property
    def most_tokens(self) -> int:
        """Tokens that the prompt and its answer have at most."""
        return len(self.prompt_ids) + int(self.sampling["max_tokens"] if self.given is None else len(self.given))

    def noise(self, sample: str) -> trajectory_pb2.NoiseKey:
        """Return the key of the sampling noise, given the name of the sample or of the group's samples."""
        *path, last = self.ask.number.split(".")
        return trajectory_pb2.NoiseKey(
            seed=self.claim.order.seed, request="/".join([sample, ".".join(path)]) if path else sample, call=int(last))


class Sampler:
    """Has engines make a group's calls."""

    def __init__(self, engines: Engines, journal: "Journal", retry: Retry) -> None:
        self._engines, self._journal, self._retry = engines, journal, retry
        self._request_ids = itertools.count()

    async def first_calls(self, request: CallRequest, samples: Sequence[int]) -> list[Call]:
        """Return the first call of each of these samples. Calls that the journal lacks are made together now.

        Each sample has its own sampling noise, so journaled samples would come out equal if they were made again.
        """
        claim = request.claim
        calls = {index: turn.call for (index, number), turn in claim.journaled.items() if number == request.ask.number}
        missing = [index for index in samples if index not in calls]
        if missing:
            made = await self._make(request, claim.order.request, range(missing[0], missing[-1] + 1))
            fresh = {index: made[index] for index in missing}
            await self._keep(claim, {index: Turn(call) for index, call in fresh.items()})
            calls.update(fresh)
        return [calls[index] for index in samples]

    async def next_call(self, request: CallRequest, index: int, steps: list[Step]) -> Call:
        """Make and return a later call of one sample. `steps` are its transitions since the call before."""
        claim = request.claim
        call = (await self._make(request, f"{claim.order.request}/{index}", range(1)))[0]
        await self._keep(claim, {index: Turn(call, steps)})
        return call

    async def _keep(self, claim: Claim, turns: dict[int, Turn]) -> None:
        await self._retry.until_answered(claim, "the database", lambda: self._journal.keep(claim, turns))

    async def _make(self, request: CallRequest, noise: str, samples: range) -> dict[int, Call]:
        if request.given is not None:
            return {0: await self._given(request, request.given)}
        response, engine = await self._retry.until_answered(
            request.claim, "inference", lambda: self._generate(request, noise, samples))
        calls = {made.index: _call(request, made, engine) for made in response.completions}
        if not request.ask.entropy:
            return calls
        scored, _ = await self._scored(request, [call.completion_ids for call in calls.values()])
        return {index: replace(call, entropy=fmean(item.entropy))
                for (index, call), item in zip(calls.items(), scored.items, strict=True)}

    async def _given(self, request: CallRequest, ids: list[int]) -> Call:
        scored, engine = await self._scored(request, [ids])
        [item] = scored.items
        span = trajectory_pb2.VersionSpan(version_id=scored.version_id, tokens=len(ids))
        call = _call(request, trajectory_pb2.Completion(
            ids=ids, logp_sample=item.logp, versions=[span], finish_reason=trajectory_pb2.FINISH_REASON_STOP), engine)
        return replace(call, entropy=fmean(item.entropy)) if request.ask.entropy else call

    async def _scored(
        self, request: CallRequest, answers: list[list[int]]
    ) -> tuple[inference_pb2.ScoreResponse, Engine]:
        """Return the scores of answers by the model that is asked, at the temperature of its samples."""
        model = request.claim.answering(request.ask.role)
        asked = inference_pb2.ScoreRequest(
            model_id=model.model_id, version_id=model.version_id or "",
            temperature=request.sampling.get("temperature", 1.0) or 1.0,
            items=[inference_pb2.ScoreItem(context_ids=request.prompt_ids, ids=ids) for ids in answers])
        return await self._retry.until_answered(request.claim, "inference", lambda: scored(self._engines, asked))

    async def _generate(
        self, request: CallRequest, noise: str, samples: range
    ) -> tuple[inference_pb2.GenerateResponse, Engine]:
        claim, model = request.claim, request.claim.answering(request.ask.role)
        engine = await self._engines.choose(model.model_id)
        response = await engine.generate(inference_pb2.GenerateRequest(
            request_id=f"{claim.id}.{claim.attempt}.{request.ask.number}.{next(self._request_ids)}",
            model_id=model.model_id, version_id=model.version_id or "", prompt_ids=request.prompt_ids, n=len(samples),
            first=samples.start,
            sampling=sampling(request.sampling, request.tokenizer), noise=request.noise(noise),
            kv_on_update=inference_pb2.KV_ON_UPDATE_KEEP, min_version=model.min_version))
        if any(made.finish_reason == trajectory_pb2.FINISH_REASON_ABORT for made in response.completions):
            raise Unavailable(f"engine {engine.id} broke off")
        return response, engine


def sampling(asked: Mapping[str, Any], tokenizer: ModelText) -> trajectory_pb2.Sampling:
    """Return the sampling parameters of a call for an engine."""
    return trajectory_pb2.Sampling(
        max_tokens=asked["max_tokens"], temperature=asked.get("temperature", 1.0), top_p=asked.get("top_p", 1.0),
        top_k=asked.get("top_k", 0), stop=asked.get("stop", []), stop_ids=tokenizer.stop_ids,
        include_stop=asked.get("include_stop") or False)


def _call(request: CallRequest, made: trajectory_pb2.Completion, engine: Engine) -> Call:
    asked, ask, ids = request.sampling, request.ask, list(made.ids)
    text = request.tokenizer.decode(ids, after=request.prompt_ids)
    return Call(
        index=request.index, number=ask.number, parent=request.parent, kind=ask.kind, group_key=ask.group_key,
        turn=ask.seat.turns, role=ask.role, prompt_ids=request.prompt_ids,
        completion_ids=ids, logp_sample=list(made.logp_sample), finish_reason=FINISH_REASONS[made.finish_reason],
        train_mask=[ask.role == POLICY] * len(ids),
        versions=[VersionSpan(span.version_id, span.tokens) for span in made.versions],
        text=cut(text, asked.get("stop", []), asked.get("include_stop") or False), sampling=asked, engine=engine.build)


FinishedTurns = tuple[Claim, dict[int, Turn]]
"""A group, and turns of it by the index of their sample, all with the same call number."""


class Journal:
    """Stores calls for a later claim of their group. Calls that finish together are written by one statement."""

    def __init__(self, database: AsyncDatabase) -> None:
        self._database = database
        self._writes: Batcher[FinishedTurns, bool] = Batcher(self._write, calls=1)

    async def keep(self, claim: Claim, turns: dict[int, Turn]) -> None:
        """Store turns durably; a turn that is stored already stays as it is. Raises ClaimLost."""
        reach("call-journal")
        if not await self._writes.ask((claim, turns)):
            raise ClaimLost
        reach("journal.after")

    async def _write(self, finished: list[FinishedTurns]) -> AsyncIterator[tuple[int, bool]]:
        """Write one row for each item, under the lowest index of its samples."""
        first = [min(turns) for _, turns in finished]
        held = await self._database.all(
            "journal.add", group_ids=[claim.id for claim, _ in finished],
            attempts=[claim.attempt for claim, _ in finished], indices=first,
            calls=[turns[index].call.number for (_, turns), index in zip(finished, first, strict=True)],
            bodies=[journal.encode(turns) for _, turns in finished])
        ours = {row["id"] for row in held}
        for place, (claim, _) in enumerate(finished):
            yield place, claim.id in ours


class TeacherScorer:
    """Has engines score the policy's tokens under a group's teacher."""

    def __init__(self, engines: Engines, retry: Retry) -> None:
        self._engines, self._retry = engines, retry

    async def scored(self, claim: Claim, samples: Sequence[list[Call]]) -> list[list[Call]]:
        """Return each sample's calls; if the order names a teacher, the policy's calls have its scores.

        Scores depend on weights and ids alone: they are not journaled, and another attempt gets the same ones.
        Raises ClaimLost when the group is no longer ours.
        """
        teacher, found = claim.order.teacher, [run for calls in samples for run in runs(calls)]
        if teacher is None or not found:
            return list(samples)
        scores = await self._retry.until_answered(claim, "the teacher", lambda: self._score(claim, teacher, found))
        return [[replace(call, scored=[scores[id(call)]]) if id(call) in scores else call for call in calls]
                for calls in samples]

    async def _score(self, claim: Claim, teacher: Role, texts: list[list[Call]]) -> dict[int, Scored]:
        """Return the scores of runs of calls, which are scored as one text each, by the calls' identities."""
        version_id = claim.role_versions.get(TEACHER)
        if version_id is None:
            raise Unavailable(f"model {teacher.model_id} has no version that is live")
        response, _ = await scored(self._engines, inference_pb2.ScoreRequest(
            model_id=teacher.model_id, version_id=version_id, temperature=1.0, top_k=teacher.top_k,
            items=map(_text, texts)))
        return {id(call): _part(item, len(call.prompt_ids) - len(run[0].prompt_ids), call, version_id, teacher.top_k)
                for run, item in zip(texts, response.items, strict=True) for call in run}


async def scored(
    engines: Engines, request: inference_pb2.ScoreRequest
) -> tuple[inference_pb2.ScoreResponse, Engine]:
    """Return the scores that an engine gives, and the engine. Raises Unavailable where they do not fit the request."""
    engine = await engines.choose(request.model_id)
    response = await engine.score(request)
    if problem := _problem(request, response):
        engine.failures += 1
        raise Unavailable(f"engine {engine.id} answers {problem}")
    return response, engine


def _problem(request: inference_pb2.ScoreRequest, response: inference_pb2.ScoreResponse) -> str:
    """Return how a response differs from its request: found and expected; "" if it fits."""
    if request.version_id not in ("", response.version_id):
        return f"for version {response.version_id}, expected {request.version_id}"
    if len(response.items) != len(request.items):
        return f"{len(response.items)} items, expected {len(request.items)}"
    for asked, item in zip(request.items, response.items, strict=True):
        expected, top = len(asked.ids), len(asked.ids) * request.top_k
        found = (len(item.logp), len(item.entropy), len(item.top_ids), len(item.top_logp))
        if found != (expected, expected, top, top):
            return f"{found} scores, entropies and likeliest ids, expected {expected} and {request.top_k} at each"
        if any(map(math.isnan, item.logp)):
            return "scores that are no numbers"
    return ""


def _text(run: list[Call]) -> inference_pb2.ScoreItem:
    """Return all that follows the first prompt of a run of calls, to be scored."""
    prompt, last = run[0].prompt_ids, run[-1]
    return inference_pb2.ScoreItem(
        context_ids=prompt, ids=[*last.prompt_ids[len(prompt):], *last.completion_ids])


def _part(item: inference_pb2.ScoredItem, start: int, call: Call, version_id: str, top_k: int) -> Scored:
    """Return the scores of a call's completion, which begins at `start` of the text that was scored."""
    end = start + len(call.completion_ids)
    top = slice(start * top_k, end * top_k)
    return Scored(TEACHER, version_id, list(item.logp[start:end]), list(item.top_ids[top]), list(item.top_logp[top]))
