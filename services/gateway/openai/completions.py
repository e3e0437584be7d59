"""A completion: what a model writes after a text or after ids, as a whole or as it is made."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from hone import ids
from hone.api import inference_pb2, trajectory_pb2
from hone.text.model_text import ModelText
from hone.text.streaming import TextStream
from services.gateway.middleware.errors import Away
from services.gateway.openai import answers, prompts, streams
from services.gateway.openai.answers import Head, Object, Sample, ScoredTokens
from services.gateway.openai.asking import Asked, broken
from services.gateway.openai.calls import now
from services.gateway.openai.requests import CompletionRequest

KIND = "text_completion"


@dataclass(frozen=True)
class Completing:
    """A completion request that is ready for an engine: one request for each prompt."""

    asked: Asked
    body: CompletionRequest
    head: Head
    requests: Sequence[inference_pb2.GenerateRequest]

    @property
    def prompt_tokens(self) -> int:
        """The tokens of all prompts."""
        return sum(len(request.prompt_ids) for request in self.requests)


async def prepared(asked: Asked, body: CompletionRequest) -> Completing:
    """Return requests as an engine takes them. Raises WrongRequest, TooLong."""
    found = list[inference_pb2.GenerateRequest]()
    most = prompts.completion_tokens(body)
    for place, prompt in enumerate(body.prompt):
        prompt_ids = await _ids(asked, prompt)
        prompts.expect_ids(prompt_ids, asked.model.vocabulary)
        prompts.room("prompt", len(prompt_ids), most, asked.positions)
        found.append(prompts.engine_request(
            asked.model, prompt_ids, body.sampled, most, body, asked.reader.stop_ids, body.logprobs or 0, place))
    return Completing(asked, body, Head(ids.new("cmpl"), now(), body.model), found)


async def _ids(asked: Asked, prompt: str | list[int]) -> list[int]:
    def encoded(text: ModelText) -> list[int]:
        return text.encode(str(prompt))

    return await asked.text.work(encoded) if isinstance(prompt, str) else prompt


async def whole(completing: Completing) -> Object:
    """Return the completion. Raises the refusals of the engine, and Away if it breaks off."""
    asked, body = completing.asked, completing.body
    of_prompts = await asyncio.gather(*(_samples(completing, place) for place in range(len(completing.requests))))
    choices = [await _choice(completing, place, sample) for place, samples in enumerate(of_prompts)
               for sample in samples[:body.choices]]
    made = sum(len(sample.ids) for samples in of_prompts for sample in samples)
    more: Object = {}
    if body.return_token_ids:
        more = {"prompt_token_ids": [*completing.requests[0].prompt_ids]}
    for place, choice in enumerate(choices):
        choice["index"] = place
        if body.return_token_ids:
            choice["prompt_token_ids"] = [*completing.requests[place // body.choices].prompt_ids]
    fingerprint = next((sample.fingerprint for samples in of_prompts for sample in samples), None)
    fingerprint = fingerprint or next(iter(asked.model.shown.values()))[0]
    return completing.head.part(
        KIND, choices, fingerprint, usage=answers.usage(completing.prompt_tokens, made), **more)


async def _samples(completing: Completing, place: int) -> list[Sample]:
    """Return the answers to a prompt, with `best_of` the likeliest first; without tokens to make, empty ones."""
    asked, body, request = completing.asked, completing.body, completing.requests[place]
    if not request.sampling.max_tokens:
        return [Sample(index, [], [], "", 2, []) for index in range(body.choices)]
    made = await asked.asking.calls.whole(asked.session, body.model, request)
    if any(map(broken, made)):
        raise Away("The engine broke off.")
    samples = [await asked.sample(one, request.prompt_ids, body.stops, one.index) for one in made]
    if body.sampled > body.choices:
        samples.sort(key=lambda sample: -sum(sample.logp) / max(1, len(sample.logp)))
    return samples


async def _choice(completing: Completing, place: int, sample: Sample) -> Object:
    body, reader = completing.body, completing.asked.reader
    prompt_ids = list(completing.requests[place].prompt_ids)
    prompt = reader.read(prompt_ids) if body.echo else ""
    logprobs = None
    if body.logprobs is not None:
        tokens = ScoredTokens(sample.ids, list(sample.logp), sample.top)
        if body.echo:
            tokens = await _with_prompt(completing, prompt_ids, tokens)
        before = [] if body.echo else prompt_ids
        logprobs = answers.completion_logprobs(reader, tokens, before, body.logprobs)
    return {"index": 0, "text": prompt + sample.text, "finish_reason": sample.finish_reason, "logprobs": logprobs,
            **answers.extension(sample, bool(body.return_token_ids))}


async def _with_prompt(completing: Completing, prompt_ids: list[int], tokens: ScoredTokens) -> ScoredTokens:
    """Return the tokens of a prompt, scored, before those of its answer."""
    asked, body = completing.asked, completing.body
    top = body.logprobs or 0
    if len(prompt_ids) == 1:
        logp, likeliest = list[float](), list[list[tuple[int, float]]]()
    else:
        item = inference_pb2.ScoreItem(context_ids=prompt_ids[:1], ids=prompt_ids[1:])
        scored = (await asked.asking.calls.score(asked.session, body.model, inference_pb2.ScoreRequest(
            model_id=asked.model.model_id, version_id=asked.model.version_id, items=[item], top_k=top))).items[0]
        logp = list(scored.logp)
        pairs = list(zip(scored.top_ids, scored.top_logp, strict=True))
        likeliest = [pairs[start * top:(start + 1) * top] for start in range(len(logp))]
    return ScoredTokens([*prompt_ids, *tokens.ids], [None, *logp, *tokens.logp], [None, *likeliest, *tokens.top])


async def events(completing: Completing) -> AsyncGenerator[str]:
    """Yield the completion as server-sent events. Raises the refusals of the engine, and Away if it breaks off."""
    asked, body, made_tokens = completing.asked, completing.body, 0
    choices = {(place, index): TextChoice(completing, place, index)
               for place in range(len(completing.requests)) for index in range(body.choices)}
    async with aclosing(asked.asking.calls.pieces(asked.session, body.model, completing.requests)) as made:
        async for together in made:
            said = [await choices[place, piece.index].event(piece) for place, piece in together]
            made_tokens += sum(len(piece.ids) for _, piece in together)
            yield "".join(said) if together else streams.KEEP_ALIVE
    if body.stream_options and body.stream_options.include_usage:
        yield streams.usage_event(completing.head, KIND, completing.prompt_tokens, made_tokens)
    yield streams.DONE


class TextChoice:
    """One choice of a stream: its text so far."""

    def __init__(self, completing: Completing, place: int, index: int) -> None:
        self._completing, self._index = completing, place * completing.body.choices + index
        self._before = list(completing.requests[place].prompt_ids)
        self._text = TextStream(completing.asked.reader, self._before)
        self._echo = completing.asked.reader.read(self._before) if completing.body.echo else ""
        self._length = 0

    async def event(self, piece: trajectory_pb2.Completion) -> str:
        """Return the event of new tokens. Raises Away if the engine breaks off."""
        if broken(piece):
            raise Away("The engine broke off.")
        text = self._echo + self._text.push(piece.ids, last=bool(piece.finish_reason))
        sample = await self._completing.asked.part(piece, text, self._index)
        chunk = _chunk(self._completing, sample, self._before, self._length + len(self._echo))
        self._before, self._length, self._echo = [*self._before, *piece.ids][-16:], self._length + len(text), ""
        return streams.event(chunk)


def _chunk(completing: Completing, sample: Sample, before: Sequence[int], offset: int) -> Object:
    body, logprobs = completing.body, None
    if body.logprobs is not None and sample.ids:
        tokens = ScoredTokens(sample.ids, list(sample.logp), sample.top)
        logprobs = answers.completion_logprobs(completing.asked.reader, tokens, before, body.logprobs, offset)
    choice = {"index": sample.index, "text": sample.text, "finish_reason": sample.finish_reason, "logprobs": logprobs,
              **answers.extension(sample, bool(body.return_token_ids))}
    return completing.head.part(KIND, [choice], sample.fingerprint)
