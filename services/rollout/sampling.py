"""Model calls: asked of an engine, journaled before anyone sees them, not made again when they are journaled."""

import itertools
from dataclasses import dataclass

from hone.api import inference_pb2, trajectory_pb2
from hone.trajectory.records import Call, Step, Turn, VersionSpan
from hone.trajectory.tokens import Tokenizer
from services.rollout.claims import Claim
from services.rollout.engines import Engine, Engines
from services.rollout.journaling import Journal
from services.rollout.patience import Patience, Unavailable

FINISH_REASONS = {number: name.removeprefix("FINISH_REASON_").lower()
                  for name, number in trajectory_pb2.FinishReason.items() if number}


@dataclass(frozen=True)
class Question:
    """What the call of this number is asked; `role` answers, whose model has the tokenizer."""

    claim: Claim
    tokenizer: Tokenizer
    number: int
    prompt_ids: list[int]
    turn: int = 0
    role: str = "policy"


class Sampler:
    """Asks engines for a group's calls."""

    def __init__(self, engines: Engines, journal: Journal, patience: Patience) -> None:
        self._engines, self._journal, self._patience = engines, journal, patience
        self._request_ids = itertools.count()

    async def first(self, question: Question) -> list[Call]:
        """Return every sample's first call: journaled ones as they are, the others made now, together.

        The noise of samples is theirs, so those that are there already come out equal.
        """
        claim = question.claim
        calls = {index: turn.call for (index, number), turn in claim.journaled.items() if number == 0}
        missing = [index for index in range(claim.order.n) if index not in calls]
        if missing:
            made = await self._made(question, claim.order.request, missing[-1] + 1)
            fresh = {index: made[index] for index in missing}
            await self._keep(claim, {index: Turn(call) for index, call in fresh.items()})
            calls.update(fresh)
        return [calls[index] for index in range(claim.order.n)]

    async def later(self, question: Question, index: int, steps: list[Step]) -> Call:
        """Return one sample's call after `steps`, the transitions since its call before."""
        claim = question.claim
        call = (await self._made(question, f"{claim.order.request}/{index}", 1))[0]
        await self._keep(claim, {index: Turn(call, steps)})
        return call

    async def _keep(self, claim: Claim, turns: dict[int, Turn]) -> None:
        await self._patience.keep(claim, "the database", lambda: self._journal.keep(claim, turns))

    async def _made(self, question: Question, noise: str, n: int) -> dict[int, Call]:
        response, engine = await self._patience.keep(
            question.claim, "inference", lambda: self._generate(question, noise, n))
        return {made.index: _call(question, made, engine) for made in response.completions}

    async def _generate(
        self, question: Question, noise: str, n: int
    ) -> tuple[inference_pb2.GenerateResponse, Engine]:
        claim, answering = question.claim, question.claim.answering(question.role)
        engine = await self._engines.choose(answering.model_id)
        request = inference_pb2.GenerateRequest(
            request_id=f"{claim.id}.{claim.attempt}.{question.number}.{next(self._request_ids)}",
            model_id=answering.model_id, version_id=answering.version_id or "", prompt_ids=question.prompt_ids, n=n,
            sampling=sampling(claim, question.tokenizer),
            noise=trajectory_pb2.NoiseKey(seed=claim.order.seed, request=noise, call=question.number),
            kv_on_update=inference_pb2.KV_ON_UPDATE_KEEP, min_version=answering.min_version)
        response = await engine.generate(request)
        if any(made.finish_reason == trajectory_pb2.FINISH_REASON_ABORT for made in response.completions):
            raise Unavailable(f"engine {engine.id} broke off")
        return response, engine


def sampling(claim: Claim, tokenizer: Tokenizer) -> trajectory_pb2.Sampling:
    """Return how a claim's calls are sampled, as the engine is asked."""
    asked = claim.order.sampling
    return trajectory_pb2.Sampling(
        max_tokens=asked["max_tokens"], temperature=asked.get("temperature", 1.0), top_p=asked.get("top_p", 1.0),
        top_k=asked.get("top_k", 0), stop=asked.get("stop", []), stop_ids=tokenizer.stop_ids)


def _call(question: Question, made: trajectory_pb2.Completion, engine: Engine) -> Call:
    claim, ids, ours = question.claim, list(made.ids), question.role == "policy"
    return Call(
        index=question.number, turn=question.turn, role=question.role, prompt_ids=question.prompt_ids,
        completion_ids=ids, logp_sample=list(made.logp_sample), finish_reason=FINISH_REASONS[made.finish_reason],
        train_mask=[ours] * len(ids), versions=[VersionSpan(span.version_id, span.tokens) for span in made.versions],
        text=cut(question.tokenizer.decode(ids), claim.order.sampling.get("stop", [])), sampling=claim.order.sampling,
        engine=engine.build)


def cut(text: str, stops: list[str]) -> str:
    """Return `text` up to the first stop text in it."""
    return text[:min((text.find(stop) for stop in stops if stop in text), default=len(text))]
