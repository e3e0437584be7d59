"""One question to an endpoint with OpenAI's chat completions, repeated while the endpoint is busy or away."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from pydantic import BaseModel, ValidationError

from hone.client.judge_resources import JudgeTerms
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Question, Reply

_PASSING = frozenset({408, 409, 425, 429})
_PAUSES_S, _LONGEST_PAUSE_S = (1.0, 2.0, 4.0, 8.0), 30.0
_MOST_BYTES, _SHOWN = 2**22, 200


@dataclass(frozen=True)
class Endpoint:
    """Where a question goes. `authorization` is made anew for each attempt, and is in no text."""

    url: str
    model: str
    terms: JudgeTerms
    authorization: Callable[[], str]  # value of the header; empty: none


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(BaseModel):
    choices: list[_Choice] = field(default_factory=list)
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None


class _Busy(Exception):
    """The endpoint may answer later. `pause_s`: when it says so itself."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


async def answer(client: httpx.AsyncClient, endpoint: Endpoint, question: Question) -> Reply:
    """Return the endpoint's answer. Raises JudgeFailed when all attempts failed, and for what no attempt would mend."""
    body = body_of(endpoint, question)
    for attempt in range(endpoint.terms.attempts):
        try:
            return await _attempt(client, endpoint, body)
        except _Busy as busy:
            if attempt + 1 == endpoint.terms.attempts:
                tries = f"{attempt + 1} attempts" if attempt else "one attempt"
                raise JudgeFailed(ErrorKind.MODEL_SERVER, f"{busy} (after {tries})") from busy
            await asyncio.sleep(_pause_s(attempt, busy))
    raise AssertionError("terms ask for no attempt")


def body_of(endpoint: Endpoint, question: Question) -> dict[str, Any]:
    """Return a question as OpenAI's chat completions are asked."""
    body: dict[str, Any] = {
        "model": endpoint.model, "messages": [dict(message) for message in question.messages],
        endpoint.terms.length: question.max_tokens, "temperature": question.temperature, "top_p": question.top_p}
    if endpoint.terms.seeds:
        body["seed"] = question.seed
    if question.effort:
        body["reasoning_effort"] = question.effort
    if question.tools:
        body["tools"] = list(question.tools)
    if question.schema is not None and (form := _form(endpoint.terms, question.schema)):
        body["response_format"] = form
    return body


def _form(terms: JudgeTerms, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    if terms.answers == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "verdict", "schema": dict(schema), "strict": True}}
    return {"type": "json_object"} if terms.answers == "json_object" else None


async def _attempt(client: httpx.AsyncClient, endpoint: Endpoint, body: Mapping[str, Any]) -> Reply:
    authorization = endpoint.authorization()
    try:
        async with asyncio.timeout(endpoint.terms.timeout_s), client.stream(
                "POST", f"{endpoint.url}/chat/completions", json=body,
                headers={"Authorization": authorization} if authorization else {}) as response:
            content = await _content(response)
    except TimeoutError as error:
        raise _Busy(f"the judge did not answer within {endpoint.terms.timeout_s:g} s") from error
    except httpx.HTTPError as error:
        raise _Busy(f"the judge cannot be reached: {type(error).__name__}") from error
    if response.status_code in _PASSING or response.status_code >= 500:
        raise _Busy(f"the judge answered with status {response.status_code}", _said_pause_s(response.headers))
    if response.status_code != 200:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the judge refuses the question with status {response.status_code}: "
                          f"{content[:_SHOWN].decode(errors='replace')}")
    return _reply(content, str(body["model"]))


async def _content(response: httpx.Response) -> bytes:
    """Return the body of a response. Raises JudgeFailed for one that is no answer by its length."""
    parts, length = list[bytes](), 0
    async for part in response.aiter_bytes():
        parts.append(part)
        length += len(part)
        if length > _MOST_BYTES:
            raise JudgeFailed(ErrorKind.MODEL_SERVER, f"the judge answered with more than {_MOST_BYTES} bytes")
    return b"".join(parts)


def _reply(content: bytes, model: str) -> Reply:
    try:
        made = _Completion.model_validate_json(content)
        choice = made.choices[0]
    except (ValidationError, IndexError) as error:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, "the judge answered with something else than a chat completion: "
                          f"{content[:_SHOWN].decode(errors='replace')}") from error
    if choice.finish_reason == "content_filter" or (choice.message.refusal and not choice.message.content):
        raise JudgeFailed(ErrorKind.MODEL_REFUSAL, (choice.message.refusal or "its content filter")[:_SHOWN])
    usage, named = made.usage or _Usage(), made.model or model
    return Reply(choice.message.content or "", named, max(0, usage.prompt_tokens), max(0, usage.completion_tokens),
                 choice.finish_reason or "stop", choice.message.tool_calls or ())


def _said_pause_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which an endpoint wants to be asked again, if it says so in seconds."""
    text = headers.get("retry-after", "")
    return float(text) if text.isdecimal() else None


def _pause_s(attempt: int, busy: _Busy) -> float:
    pause_s = _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)] if busy.pause_s is None else busy.pause_s
    return min(pause_s, _LONGEST_PAUSE_S) * random.uniform(0.75, 1.25)
