"""/v1/chat/completions, completions, embeddings and pooling: as OpenAI's clients ask models (docs/asking.md)."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Annotated, Any, TypeVar, cast

from fastapi import APIRouter, Depends, Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller, TenantSession
from services.gateway.openai import chat, completions, embeddings, pooling, streams
from services.gateway.openai.answers import Object
from services.gateway.openai.asking import Asking
from services.gateway.openai.requests import ChatRequest, CompletionRequest, EmbeddingRequest, PoolingRequest
from services.gateway.routing import choice, stored

router = APIRouter(prefix="/v1", tags=["chat"])

_LOOK_S = 0.25
"""Seconds between two looks whether the client of an answer that is made as a whole is still there."""
T = TypeVar("T")


def _asking(request: Request) -> Asking:
    return cast(Asking, request.app.state.asking)


Models = Annotated[Asking, Depends(_asking)]

_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "No model of the tenant has this name."}}
_ANSWERS: dict[int | str, dict[str, Any]] = {**_UNKNOWN, 200: {
    "description": "The answer; with `stream`, its chunks.", "content": {
    "application/json": {"schema": {
        "type": "object", "required": ["id", "object", "created", "model", "choices", "usage"],
        "properties": {"id": {"type": "string"}, "object": {"type": "string"}, "created": {"type": "integer"},
                       "model": {"type": "string"}, "choices": {"type": "array", "items": {"type": "object"}},
                       "usage": {"type": "object"}}}},
    "text/event-stream": {"schema": {"type": "string"}}}}}


@router.post("/chat/completions", response_model=None, responses=_ANSWERS, openapi_extra=needs("run", "answers", {
    "model": "my-base", "messages": [{"role": "user", "content": "1 + 1 ="}]}))
async def completed(body: ChatRequest, request: Request, caller: Caller, models: Models) -> Response:
    """Have a model answer a conversation, as OpenAI's clients ask. `stream` sends the answer as it is made."""
    async with AsyncExitStack() as stack:
        prepared = await _prepared(stack, models, caller, body)
        if body.stream:
            return await streams.answer(_held(stack.pop_all(), chat.events(prepared)))
        return JSONResponse(await _unless_gone(request, lambda: chat.whole(prepared)))


async def _prepared(stack: AsyncExitStack, models: Asking, caller: TenantSession, body: ChatRequest) -> chat.Chat:
    """Return the chat of the model that a request names, or of the one that its route chooses."""
    route = stored.name_of(body.model)
    if route is not None:
        return await choice.prepared(stack, models, caller, body, route)
    asked = await stack.enter_async_context(models.one(caller, body.model, body.reasoning_effort))
    return await chat.prepared(asked, body)


@router.post("/completions", response_model=None, responses=_ANSWERS,
             openapi_extra=needs("run", "answers", {"model": "my-base", "prompt": "1 + 1 =", "max_tokens": 4}))
async def continued(body: CompletionRequest, request: Request, caller: Caller, models: Models) -> Response:
    """Have a model continue texts or token ids, as OpenAI's clients ask. `stream` sends the text as it is made."""
    async with AsyncExitStack() as stack:
        asked = await stack.enter_async_context(models.one(caller, body.model))
        prepared = await completions.prepared(asked, body)
        if body.stream and prepared.requests[0].sampling.max_tokens:
            return await streams.answer(_held(stack.pop_all(), completions.events(prepared)))
        return JSONResponse(await _unless_gone(request, lambda: completions.whole(prepared)))


_VECTORS: dict[int | str, dict[str, Any]] = {**_UNKNOWN, 200: {"content": {"application/json": {"schema": {
    "type": "object", "required": ["object", "model", "data", "usage"],
    "properties": {"object": {"const": "list"}, "model": {"type": "string"}, "usage": {"type": "object"},
                   "data": {"type": "array", "items": {"type": "object"}}}}}}}}


@router.post("/embeddings", response_model=None, responses=_VECTORS,
             openapi_extra=needs("run", "answers", {"model": "my-base", "input": ["1 + 1 ="]}))
async def embedded(body: EmbeddingRequest, caller: Caller, models: Models) -> Response:
    """Return the vectors of texts, of length 1, from the value service's embedder."""
    with models.place(caller):
        return JSONResponse(embeddings.answer(body, await models.calls.embed(caller, body.model, body.input)))


@router.post("/pooling", response_model=None, responses=_VECTORS, openapi_extra=needs("run", "answers", {
    "model": "my-reward-model", "messages": [{"role": "user", "content": "1 + 1 ="}, {"role": "assistant",
    "content": "2"}]}))
async def pooled(body: PoolingRequest, caller: Caller, models: Models) -> Response:
    """Return a reward model's rating of the last message, in the form of vLLM's /pooling."""
    async with models.one(caller, body.model) as asked:
        return JSONResponse(await pooling.rated(asked, body))


async def _held(stack: AsyncExitStack, events: AsyncGenerator[str]) -> AsyncGenerator[str]:
    """Yield events, and hold what they need until they end."""
    async with stack, aclosing(events):
        async for text in events:
            yield text


async def _unless_gone(request: Request, work: Callable[[], Awaitable[Object]]) -> Object:
    """Return the result of `work`; cancel it once the client has gone. Raises ClientDisconnect."""
    async with _running(work) as task:
        while not task.done():
            await asyncio.wait([task], timeout=_LOOK_S)
            if not task.done() and await request.is_disconnected():
                raise ClientDisconnect
        return task.result()


@asynccontextmanager
async def _running(work: Callable[[], Awaitable[Object]]) -> AsyncIterator[asyncio.Future[Object]]:
    task = asyncio.ensure_future(work())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
