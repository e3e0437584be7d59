"""Answers as they are made: chunks of server-sent events. What makes chunks of tokens is pure; the rest sends them."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse

from hone.text.conversation import Tools
from hone.text.model_text import ModelText
from services.gateway.middleware import errors, openai_errors
from services.gateway.openai.answers import (
    Head,
    Object,
    Sample,
    call_id,
    chat_logprobs,
    extension,
    finish,
    usage,
)
from services.gateway.openai.arriving_calls import ArrivingCalls, CallPiece
from services.gateway.openai.tool_calls import SpokenPieces

DONE = "data: [DONE]\n\n"
KEEP_ALIVE = ": keep-alive\n\n"
_PIECE = 64
"""Characters of arguments in a chunk."""
_log = logging.getLogger("hone.gateway")


class ChatChunks:
    """The chunks of one choice of a chat completion."""

    def __init__(self, head: Head, index: int, tools: Tools, begun: str, parallel: bool = True) -> None:
        self._head, self._index = head, index
        self._pieces, self._calls = SpokenPieces(tools, begun), ArrivingCalls(None if parallel else 1)
        self._with_tools = bool(tools)

    def opening(self) -> Object:
        """Return the chunk that names the role."""
        return self._chunk({"role": "assistant", "content": ""}, None, None)

    def of(self, sample: Sample, logprobs: Object | None, with_ids: bool) -> list[Object]:
        """Return the chunks of new tokens; `sample` has the text that they add."""
        content, more = self._pieces.push(sample.text), extension(sample, with_ids)
        ends = sample.finish_reason is not None
        chunks = list[Object]()
        if content or logprobs or (with_ids and sample.ids):
            chunks.append(self._chunk({"content": content}, logprobs, sample, more))
        if self._with_tools:
            chunks += self._called(self._calls.push(self._pieces.text), sample)
        if ends:
            chunks += self._last(sample, more)
        return chunks

    def _last(self, sample: Sample, more: Object) -> list[Object]:
        rest, calls = self._pieces.finish()
        chunks = [self._chunk({"content": rest}, None, sample)] if rest and not self._calls.any else []
        chunks += self._called(self._calls.rest(calls), sample)
        closing = self._chunk({}, None, sample, {**more, "token_ids": []} if "token_ids" in more else more)
        closing["choices"][0]["finish_reason"] = finish(sample, bool(calls) or self._calls.any)
        return [*chunks, closing]

    def _called(self, pieces: Sequence[CallPiece], sample: Sample) -> list[Object]:
        return [self._chunk({"tool_calls": [delta]}, None, sample) for piece in pieces for delta in _call_deltas(piece)]

    def _chunk(
        self, delta: Object, logprobs: Object | None, sample: Sample | None, more: Mapping[str, Any] | None = None
    ) -> Object:
        choice = {"index": self._index, "delta": delta, "finish_reason": None, "logprobs": logprobs, **(more or {})}
        return self._head.part("chat.completion.chunk", [choice], sample.fingerprint if sample else None)


def _call_deltas(piece: CallPiece) -> list[Object]:
    """Return a piece of a tool call as clients read it: its name, then its arguments."""
    first: Object = {"index": piece.place, "id": call_id(), "type": "function",
                     "function": {"name": piece.name, "arguments": ""}}
    parts = (piece.arguments[start:start + _PIECE] for start in range(0, len(piece.arguments), _PIECE))
    return [*([first] if piece.name is not None else []),
            *({"index": piece.place, "function": {"arguments": part}} for part in parts)]


def piece_logprobs(text: ModelText, sample: Sample, before: Sequence[int], top: int | None) -> Object | None:
    """Return the log-probs of a chunk's tokens; None where they are not asked for, or where there are none."""
    return None if top is None or not sample.ids else chat_logprobs(text, sample, before, top)


def event(data: Object) -> str:
    """Return a server-sent event with an object."""
    return f"data: {json.dumps(data, separators=(',', ':'))}\n\n"


def usage_event(head: Head, kind: str, prompt: int, completion: int) -> str:
    """Return the event that counts the tokens of a stream."""
    return event(head.part(kind, [], None, usage=usage(prompt, completion)))


async def answer(events: AsyncGenerator[str]) -> StreamingResponse:
    """Return the response with these events. An error before the first one is raised, so that it has a status."""
    try:
        first = await anext(events)
    except BaseException:
        await events.aclose()
        raise
    return StreamingResponse(_sent(first, events), media_type="text/event-stream",
                             headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


async def _sent(first: str, rest: AsyncGenerator[str]) -> AsyncIterator[str]:
    async with aclosing(rest):
        yield first
        try:
            async for text in rest:
                yield text
        except Exception as error:
            refused = errors.refusal(error)
            if refused.status_code >= 500:
                _log.warning("a stream ends early: %s", refused.detail)
            problems = refused.problems if isinstance(refused, errors.Refusal) else []
            code = refused.code if isinstance(refused, errors.Refusal) else None
            yield event({"error": openai_errors.error(refused.status_code, str(refused.detail), problems, code)})
