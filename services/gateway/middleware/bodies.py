"""Bodies of requests: none larger than the limit is read, and an early response reaches a client that still sends."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.spec.problems import Problem
from services.gateway.middleware.errors import BodyTooLarge, TooSlow, Unusable

DOCUMENT_BYTES = 2**20
"""Largest body that is not a multipart form: it is held in memory and searched."""

UPLOADS = "/v1/uploads/"
PART_BYTES = 64 * 2**20
"""Largest part of an upload, a body of bytes (application/octet-stream) that is written to a file as it comes."""

SILENCE_S = 60.0
"""Seconds that a body may pause. Then the request is refused, so that no connection is held for ever."""

LINGER_S = 2.0
"""Seconds that an early response waits for a client that still sends. Closing at once would reset the connection."""


class BodyLimit:
    """Refuses a body that is too large: before it is read if it announces its length, otherwise during the read.

    A multipart form with files may have `limit` bytes, a part of an upload PART_BYTES, any other body DOCUMENT_BYTES.
    Raises BodyTooLarge, TooSlow after `silence_s` without a byte, and Unusable for a body that is compressed.
    """

    def __init__(self, app: ASGIApp, limit: int, silence_s: float = SILENCE_S) -> None:
        self._app, self._limit, self._silence_s = app, limit, silence_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        announced, limit = _announced(headers), self._allowed(scope, headers.get("content-type", "").lower())
        if announced > limit:
            raise _refusal(f"{announced} bytes", limit)
        if (coding := headers.get("content-encoding", "identity").lower()) not in ("", "identity"):
            raise Unusable(problems=[Problem("header.Content-Encoding", coding[:100], "identity: nothing is unpacked")])
        read, body = 0, _RemainingBody(_comes(headers), receive)

        async def counted() -> Message:
            nonlocal read
            message = await self._in_time(body)
            read += len(message.get("body", b""))
            if read > limit:
                raise _refusal(f"more than {limit} bytes", limit)
            return message

        return await self._app(scope, counted, send)

    async def _in_time(self, body: "_RemainingBody") -> Message:
        """Return the next message. What comes after the body, the end of the connection, has no deadline."""
        try:
            async with asyncio.timeout(self._silence_s if body.coming else None):
                return await body.receive()
        except TimeoutError:
            raise TooSlow(f"Nothing of the body came for {self._silence_s:.0f} s.") from None

    def _allowed(self, scope: Scope, kind: str) -> int:
        if kind.startswith("multipart/form-data"):
            return self._limit
        part = scope["method"] == "PUT" and scope["path"].startswith(UPLOADS) and kind == "application/octet-stream"
        return PART_BYTES if part else min(self._limit, DOCUMENT_BYTES)


def _refusal(size: str, limit: int) -> BodyTooLarge:
    return BodyTooLarge(problems=[Problem("body", size, f"at most {limit} bytes")])


class LateBodies:
    """Discards the rest of a body after an early response, for LINGER_S, so that the client can read the response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        body = _RemainingBody(_comes(headers), receive)

        async def patient(message: Message) -> None:
            if message["type"] != "http.response.body" or message.get("more_body", False) or not body.coming:
                return await send(message)
            await send({**message, "more_body": True})
            if "expect" not in headers:
                await body.discard()
            return await send({"type": "http.response.body", "body": b"", "more_body": False})

        return await self._app(scope, body.receive, patient)


class _RemainingBody:
    """The part of a request's body that is not read yet; `coming` says whether there is any."""

    def __init__(self, coming: bool, receive: Receive) -> None:
        self.coming, self._receive = coming, receive

    async def receive(self) -> Message:
        message = await self._receive()
        self.coming = message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def discard(self) -> None:
        try:
            async with asyncio.timeout(LINGER_S):
                while self.coming:
                    await self.receive()
        except TimeoutError:
            return


def _comes(headers: Headers) -> bool:
    return _announced(headers) > 0 or "transfer-encoding" in headers


def _announced(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isdecimal() else 0
