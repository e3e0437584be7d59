"""Every request has an id: the caller's `X-Request-Id`, or a new one.

The response, the log line and every problem document of the request carry it.
"""

import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone import ids

HEADER = "X-Request-Id"
_log = logging.getLogger("hone.gateway")


class RequestIds:
    """Sets `request.state.request_id` and logs one line for each request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request_id = ids.of_request(Headers(scope=scope).get(HEADER))
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.monotonic()

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
                _log_response(scope, message["status"], started)
            await send(message)

        return await self._app(scope, receive, numbered)


def _log_response(scope: Scope, status: int, started: float) -> None:
    fields = {"request_id": scope["state"]["request_id"], "method": scope["method"], "path": scope["path"],
              "status": status, "ms": round(1000 * (time.monotonic() - started), 1)}
    _log.info("%s %s %s", scope["method"], scope["path"], status, extra={"fields": fields})
