"""Bodies that pause for too long, and bodies that would have to be unpacked, are refused."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from services.gateway.middleware.bodies import BodyLimit
from services.gateway.middleware.errors import TooSlow, Unusable


def request(app: Callable[[Receive], Any], messages: list[Message], **headers: str) -> None:
    """Send a request whose body never ends after these messages."""
    async def receive() -> Message:
        return messages.pop(0) if messages else await asyncio.Future()

    async def send(_: Message) -> None:
        raise AssertionError("no answer is expected")

    async def inner(_: Scope, receive: Receive, __: Send) -> None:
        await app(receive)

    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: Scope = {"type": "http", "method": "POST", "path": "/v1/runs", "headers": encoded}
    asyncio.run(BodyLimit(inner, 100, silence_s=0.01)(scope, receive, send))


async def twice(receive: Receive) -> None:
    await receive()
    await receive()


def test_a_body_that_pauses_is_refused() -> None:
    first: Message = {"type": "http.request", "body": b"{", "more_body": True}
    for headers in ({"content_length": "9"}, {"transfer_encoding": "chunked"}):
        with pytest.raises(TooSlow, match="Nothing of the body came"):
            request(twice, [dict(first)], **headers)


def test_what_comes_after_the_body_has_no_deadline() -> None:
    async def patient(receive: Receive) -> None:
        await receive()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.05)

    request(patient, [{"type": "http.request", "body": b"{}", "more_body": False}], content_length="2")


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip"])
def test_nothing_is_unpacked(coding: str) -> None:
    with pytest.raises(Unusable) as refused:
        request(twice, [], content_encoding=coding)
    assert [(one.field, one.found) for one in refused.value.problems] == [("header.Content-Encoding", coding)]
