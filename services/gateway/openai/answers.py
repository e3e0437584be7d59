"""From an engine's tokens to OpenAI's objects. Pure: what is made of equal tokens is equal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hone import ids
from hone.api import trajectory_pb2
from hone.environments.written_calls import WrittenCall
from hone.text import streaming
from hone.text.model_text import ModelText

Object = dict[str, Any]
"""An object of OpenAI's protocol."""

ABORTED = trajectory_pb2.FINISH_REASON_ABORT
_REASONS: Mapping[int, str] = {
    trajectory_pb2.FINISH_REASON_STOP: "stop",
    trajectory_pb2.FINISH_REASON_LENGTH: "length"}


class Head(NamedTuple):
    """Fields of all parts of an answer."""

    id: str
    created: int  # seconds since 1970
    model: str

    def part(self, kind: str, choices: Sequence[Object], fingerprint: str | None, **more: Any) -> Object:
        """Return an object of a kind with these choices."""
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": [*choices],
                "system_fingerprint": fingerprint, **more}


@dataclass(frozen=True)
class Sample:
    """An answer as an engine gave it, with its text, and with the numbers of the versions that made its tokens."""

    index: int
    ids: Sequence[int]
    logp: Sequence[float]
    text: str
    reason: int  # of hone.v1.FinishReason
    versions: Sequence[tuple[str, int, int]]  # (id that clients see, number, consecutive tokens)
    top: Sequence[Sequence[tuple[int, float]]] = ()  # the likeliest ids at each place, with their log-probs

    @property
    def finish_reason(self) -> str | None:
        """OpenAI's word for why it ended; None while it goes on."""
        return _REASONS.get(self.reason)

    @property
    def fingerprint(self) -> str | None:
        """The id of the newest version that made tokens of it."""
        return self.versions[-1][0] if self.versions else None


def extension(sample: Sample, with_ids: bool) -> Object:
    """Return the fields of a choice besides OpenAI's: the version, or one for each token, and its ids if asked."""
    numbers = list(dict.fromkeys(number for _, number, _ in sample.versions))
    found: Object = {"policy_version": numbers[-1] if numbers else None}
    if len(numbers) > 1:
        found["policy_versions"] = [number for _, number, tokens in sample.versions for _ in range(tokens)]
    return {**found, "token_ids": [*sample.ids]} if with_ids else found


def chat_choice(sample: Sample, content: str, calls: Sequence[WrittenCall], logprobs: Object | None) -> Object:
    """Return a choice of a chat completion."""
    message: Object = {"role": "assistant", "content": content or (None if calls else ""), "refusal": None}
    if calls:
        message["tool_calls"] = [{"id": call_id(), "type": "function",
                                  "function": {"name": call.name, "arguments": call.arguments}} for call in calls]
    return {"index": sample.index, "message": message, "logprobs": logprobs,
            "finish_reason": finish(sample, bool(calls))}


def finish(sample: Sample, called: bool) -> str | None:
    """Return why an answer ended, calls of tools included."""
    return "tool_calls" if called and sample.finish_reason == "stop" else sample.finish_reason


def call_id() -> str:
    """Return a new id of a tool call."""
    return ids.new("call")


def usage(prompt: int, completion: int) -> Object:
    """Return the token counts of an answer."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0}}


def chat_logprobs(text: ModelText, sample: Sample, before: Sequence[int], top: int) -> Object:
    """Return the log-probs of a chat completion's tokens, which follow the ids `before`."""
    content = list[Object]()
    for place, (id, logp) in enumerate(zip(sample.ids, sample.logp, strict=True)):
        known = [*before[-streaming.CONTEXT:], *sample.ids[max(0, place - streaming.CONTEXT):place]]
        likeliest = sample.top[place][:top] if sample.top else ()
        content.append({**_token(text, id, known, logp),
                        "top_logprobs": [_token(text, other, known, value) for other, value in likeliest]})
    return {"content": content, "refusal": None}


def _token(text: ModelText, id: int, before: Sequence[int], logp: float) -> Object:
    written, raw = streaming.token(text, id, before)
    return {"token": written, "logprob": logp, "bytes": [*raw]}


@dataclass(frozen=True)
class ScoredTokens:
    """Tokens of a completion with their log-probs; that of a prompt's first token is None."""

    ids: Sequence[int]
    logp: Sequence[float | None]
    top: Sequence[Sequence[tuple[int, float]] | None] = ()


def completion_logprobs(
    text: ModelText, tokens: ScoredTokens, before: Sequence[int], top: int, offset: int = 0
) -> Mapping[str, Any]:
    """Return the log-probs of a completion in OpenAI's older form; `offset` is where its text begins."""
    names, offsets, likeliest = list[str](), list[int](), list[Object | None]()
    for place, id in enumerate(tokens.ids):
        known = [*before[-streaming.CONTEXT:], *tokens.ids[max(0, place - streaming.CONTEXT):place]]
        names.append(streaming.token(text, id, known)[0])
        offsets.append(offset)
        offset += len(text.added(id, known))
        found = tokens.top[place] if tokens.top else None
        likeliest.append(None if found is None else {
            streaming.token(text, other, known)[0]: value for other, value in found[:top]})
    return {"tokens": names, "token_logprobs": [*tokens.logp], "text_offset": offsets,
            "top_logprobs": likeliest if top else None}
