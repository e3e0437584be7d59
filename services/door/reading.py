"""The reading of requests within bounds. A handler of grpc for one request would wait for it without end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing, nullcontext
from typing import Any

import grpc

from hone.rpc.border import answers
from hone.rpc.errors import InvalidField, RpcError, abort, departed

READ_S = 30.0
"""Seconds within which the request of a call has to arrive."""


class Late(RpcError):
    """The request of a call did not arrive in time."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED


async def first(
    requests: AsyncIterator[bytes], place: AbstractAsyncContextManager[object] = nullcontext()
) -> bytes:
    """Return the first message of a call, read in the place. Raises InvalidField if there is none, and Late."""
    try:
        with departed():
            async with asyncio.timeout(READ_S), place:
                return await anext(requests)
    except StopAsyncIteration:
        raise InvalidField("request", "nothing", "a message of the method's type") from None
    except TimeoutError:
        raise Late(f"request: found no whole message after {READ_S:g} s, expected the whole message") from None


def bounded(handler: Any, place: Callable[[], AbstractContextManager[object]]) -> Any:
    """Return a handler of bytes, of the server's own services, that reads within bounds and holds a place meanwhile."""

    async def answer(requests: AsyncIterator[bytes], context: Any) -> None:
        try:
            with place():
                if handler.request_streaming:
                    responses = handler.stream_stream(requests, context)
                elif handler.response_streaming:
                    responses = handler.unary_stream(await first(requests), context)
                else:
                    await context.write(await handler.unary_unary(await first(requests), context))
                    return
                async with aclosing(answers(responses)) as each:
                    async for response in each:
                        await context.write(response)
        except RpcError as error:
            await abort(context, error)

    return grpc.stream_stream_rpc_method_handler(answer, None, handler.response_serializer)
