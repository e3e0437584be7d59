"""The part of the SDK's client that asks models. Programs that speak OpenAI's protocol use their client instead."""

import json
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import httpx

from hone.client import errors
from hone.client.requests import Requests
from hone.client.resources import Resource
from hone.client.transport import parse_events

_PATH = "/v1/chat/completions"


class SaidToken(Resource):
    """A token of an answer, with its log-prob in nats under the distribution that it was drawn from."""

    token: str
    logprob: float
    id: int | None = None  # with return_token_ids


class ChatPiece(Resource):
    """New text of an answer. The last piece has the reason why it ends, and one has the version that answers."""

    text: str = ""
    tokens: Sequence[SaidToken] = ()
    finish_reason: str | None = None
    version: str | None = None  # its id; of a registered model the model's
    completion_tokens: int | None = None  # at the end: tokens of the whole answer


class Asking(Requests):
    """Methods that ask models. They need a key with the scope run."""

    def chat(self, model: str, messages: Sequence[Mapping[str, Any]], **options: Any) -> Generator[ChatPiece]:
        """Yield a model's answer to a conversation as it is made; `options` are fields of OpenAI's request.

        `model` is a registered model, a version, a run, RUN@latest or RUN@STEP. Raises HoneError, also in the middle.
        """
        given = {name: value for name, value in options.items() if value is not None}
        body = {"model": model, "messages": [*messages], "stream": True, "logprobs": True,
                "stream_options": {"include_usage": True}, **given}
        try:
            with self._transport.streamed(_PATH, {}, "POST", json=body) as response:
                for _, data in parse_events(response.iter_lines()):
                    if data == "[DONE]":
                        return
                    yield _piece(response, data)
        except httpx.TransportError as error:
            raise errors.unreachable(self._transport.base_url, error) from error
        raise errors.Away({"title": "Away", "detail": "The answer broke off."})


def _piece(response: httpx.Response, data: str) -> ChatPiece:
    """Return the piece in one event. Raises HoneError for one that reports an error."""
    try:
        chunk = json.loads(data)
        if "error" in chunk:
            raise errors.Away({"title": "Away", "detail": str(chunk["error"]["message"])})
        choice = (chunk["choices"] or [{}])[0]
        logprobs = (choice.get("logprobs") or {}).get("content") or []
        ids = choice.get("token_ids") or [None] * len(logprobs)
        return ChatPiece(
            text=(choice.get("delta") or {}).get("content") or "",
            tokens=[SaidToken(**one, id=id) for one, id in zip(logprobs, ids, strict=True)],
            finish_reason=choice.get("finish_reason"), version=chunk.get("system_fingerprint"),
            completion_tokens=(chunk.get("usage") or {}).get("completion_tokens"))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise errors.unreadable(response, data, "a piece of an answer") from error
