"""JSON bodies: one that readers would understand differently is refused before a route reads it."""

import asyncio
import json

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.spec import strict_json
from hone.spec.problems import Invalid, Problem, unstorable

_LARGE = 2**16
"""Bytes of a body from which it is read in a thread, so that other requests go on."""


_NESTED = 100
"""Most levels of a body with a NUL in a text."""


class JsonBodies:
    """Reads each JSON body as `hone.spec.strict_json` does. What is text but no JSON is left to the route to refuse."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_json(Headers(scope=scope)):
            return await self._app(scope, receive, send)
        messages, body = await _received(receive)
        if len(body) < _LARGE:
            _check(body)
        else:
            await asyncio.to_thread(_check, body)

        async def again() -> Message:
            return messages.pop(0) if messages else await receive()

        return await self._app(scope, again, send)


def is_json(headers: Headers) -> bool:
    """Return whether a body is announced as JSON."""
    kind = headers.get("content-type", "").lower().partition(";")[0].strip()
    return kind == "application/json" or kind.endswith("+json")


async def _received(receive: Receive) -> tuple[list[Message], bytes]:
    """Return the messages of a body, up to the last one, and the body."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages, b"".join(message.get("body", b"") for message in messages)


def _check(body: bytes) -> None:
    try:
        read = strict_json.read(body)
    except strict_json.Ambiguous as error:
        raise Invalid([Problem("body", error.found, error.expected)]) from None
    except UnicodeDecodeError as error:
        raise Invalid([Problem("body", f"bytes that are no text, from byte {error.start}", "JSON in UTF-8")]) from None
    except json.JSONDecodeError:
        return
    if rb"\u0000" in body and (problems := unstorable(read, deepest=_NESTED)):  # that no column of text can hold
        raise Invalid(problems)
