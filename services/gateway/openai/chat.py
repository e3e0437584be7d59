"""A chat completion: the whole answer, or its chunks."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from hone import ids
from hone.api import inference_pb2, trajectory_pb2
from hone.environments.written_calls import content_and_calls
from hone.text.streaming import TextStream
from services.gateway.middleware.errors import Away
from services.gateway.openai import answers, guides, prompts, streams
from services.gateway.openai.answers import Head, Object, Sample
from services.gateway.openai.asking import Asked, broken
from services.gateway.openai.calls import now
from services.gateway.openai.guides import Guide
from services.gateway.openai.requests import ChatRequest

KIND, CHUNK = "chat.completion", "chat.completion.chunk"


class Routed(Protocol):
    """Part of a route in a chat completion."""

    @property
    def shown(self) -> Object:
        """Fields about it in the answer."""

    async def ended(self, prompt_tokens: int, completion_tokens: int) -> None:
        """Store what the whole answer used."""


@dataclass(frozen=True)
class Chat:
    """A chat request that is ready for an engine."""

    asked: Asked
    body: ChatRequest
    head: Head
    tools: Sequence[Object]
    begun: str  # of the answer, where a tool must be called
    request: inference_pb2.GenerateRequest
    routed: Routed | None = None  # None: the request names its model
    guide: Guide | None = None

    @property
    def prompt_ids(self) -> Sequence[int]:
        """The ids of the conversation, and of the beginning of the answer."""
        return self.request.prompt_ids

    @property
    def top(self) -> int | None:
        """How many of the likeliest tokens are shown at each place; None: no log-probs at all."""
        return (self.body.top_logprobs or 0) if self.body.logprobs else None


    def extension(self) -> Object:
        """Return the fields of the whole answer, or of its first chunk, besides OpenAI's."""
        ids: Object = {"prompt_token_ids": [*self.prompt_ids]} if self.body.return_token_ids else {}
        return ids | ({"route": self.routed.shown} if self.routed else {})

    async def ended(self, completion_tokens: int) -> None:
        """Let its route know what the answer used."""
        if self.routed:
            await self.routed.ended(len(self.prompt_ids), completion_tokens)


async def prepared(asked: Asked, body: ChatRequest, id: str = "", routed: Routed | None = None) -> Chat:
    """Return a request as an engine takes it; its answer has this `id` or a new one. Raises WrongRequest, TooLong."""
    messages, shown, begun = prompts.conversation(body), prompts.tools(body), prompts.begun(body)
    guide = guides.of(body, asked.reader.control)
    prompts.expect_readable(asked.model, messages, shown)
    prompt_ids = await asked.text.work(lambda text: prompts.chat_ids(text, messages, shown, begun))
    most = prompts.room("messages", len(prompt_ids), body.most_tokens, asked.positions)
    request = prompts.engine_request(
        asked.model, prompt_ids, body.choices, most, body, asked.reader.stop_ids, body.top_logprobs or 0)
    request.grammar = guide.grammar if guide else ""
    head = Head(id or ids.new("chatcmpl"), now(), body.model)
    return Chat(asked, body, head, shown, begun, request, routed, guide)


async def whole(chat: Chat) -> Object:
    """Return the chat completion. Raises the refusal of the engine, and Away if it breaks off."""
    with guides.blamed(chat.guide):
        made = await chat.asked.asking.calls.whole(chat.asked.session, chat.body.model, chat.request)
    if any(map(broken, made)):
        raise Away("The engine broke off.")
    samples = [await chat.asked.sample(one, chat.prompt_ids, chat.body.stops, one.index) for one in made]
    made_tokens = sum(len(sample.ids) for sample in samples)
    await chat.ended(made_tokens)
    return chat.head.part(
        KIND, [_choice(chat, sample) for sample in samples], samples[0].fingerprint,
        usage=answers.usage(len(chat.prompt_ids), made_tokens), **chat.extension())


def _choice(chat: Chat, sample: Sample) -> Object:
    content, calls = content_and_calls(chat.begun + sample.text, chat.tools) if chat.tools else (sample.text, [])
    calls = calls[:1] if chat.body.parallel_tool_calls is False else calls
    logprobs = streams.piece_logprobs(chat.asked.reader, sample, chat.prompt_ids, chat.top)
    return {**answers.chat_choice(sample, content, calls, logprobs),
            **answers.extension(sample, bool(chat.body.return_token_ids))}


async def events(chat: Chat) -> AsyncGenerator[str]:
    """Yield the chat completion as server-sent events. Raises the refusal of the engine, and Away if it breaks off."""
    body, made_tokens, parallel = chat.body, 0, chat.body.parallel_tool_calls is not False
    choices = [ChatStream(chat, index, parallel) for index in range(body.choices)]
    opening = "".join(choice.opening(chat) for choice in choices)
    pieces = chat.asked.asking.calls.pieces(chat.asked.session, body.model, [chat.request])
    with guides.blamed(chat.guide):
        async with aclosing(pieces):
            async for together in pieces:
                said = [await choices[piece.index].events(chat, piece) for _, piece in together]
                made_tokens += sum(len(piece.ids) for _, piece in together)
                yield f"{opening}{''.join(said)}" if together else streams.KEEP_ALIVE
                opening = "" if together else opening
    await chat.ended(made_tokens)
    if body.stream_options and body.stream_options.include_usage:
        yield streams.usage_event(chat.head, CHUNK, len(chat.prompt_ids), made_tokens)
    yield streams.DONE


class ChatStream:
    """One choice of a stream: its text and its chunks so far."""

    def __init__(self, chat: Chat, index: int, parallel: bool) -> None:
        self.chunks = streams.ChatChunks(chat.head, index, chat.tools, chat.begun, parallel)
        self.text = TextStream(chat.asked.reader, chat.prompt_ids)
        self.before = list(chat.prompt_ids[-16:])

    def opening(self, chat: Chat) -> str:
        """Return the event that names the role."""
        return streams.event({**self.chunks.opening(), **chat.extension()})

    async def events(self, chat: Chat, piece: trajectory_pb2.Completion) -> str:
        """Return the events of new tokens. Raises Away if the engine breaks off."""
        if broken(piece):
            raise Away("The engine broke off.")
        text = self.text.push(piece.ids, last=bool(piece.finish_reason))
        sample = await chat.asked.part(piece, text, piece.index)
        logprobs = streams.piece_logprobs(chat.asked.reader, sample, self.before, chat.top)
        self.before = [*self.before, *piece.ids][-16:]
        return "".join(map(streams.event, self.chunks.of(sample, logprobs, bool(chat.body.return_token_ids))))
