"""A question to an endpoint with OpenAI's chat completions, and its answer."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from hone.client.judge_resources import JudgeTerms
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import JudgeFailed, Question, Reply
from hone.judges.endpoint import SHOWN, Endpoint, Exchange


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
    choices: list[_Choice] = Field(default_factory=list)
    model: str | None = None
    system_fingerprint: str | None = None
    usage: _Usage | None = None


def exchange(endpoint: Endpoint, question: Question) -> Exchange:
    """Return a question as it is sent, and how its answer is read."""
    return Exchange("/chat/completions", body_of(endpoint, question), partial(_reply, model=endpoint.model))


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


def _reply(content: bytes, model: str) -> Reply:
    try:
        made = _Completion.model_validate_json(content)
        choice = made.choices[0]
    except (ValidationError, IndexError) as error:
        raise JudgeFailed(ErrorKind.MODEL_SERVER, "the judge answered with something else than a chat completion: "
                          f"{content[:SHOWN].decode(errors='replace')}") from error
    if choice.finish_reason == "content_filter" or (choice.message.refusal and not choice.message.content):
        raise JudgeFailed(ErrorKind.MODEL_REFUSAL, (choice.message.refusal or "its content filter")[:SHOWN])
    usage, named = made.usage or _Usage(), made.model or model
    return Reply(choice.message.content or "", named, max(0, usage.prompt_tokens), max(0, usage.completion_tokens),
                 choice.finish_reason or "stop", choice.message.tool_calls or ())
