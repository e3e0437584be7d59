"""What no layer below expected becomes a problem document too, and its traceback a line of the log."""

import logging

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.errors import refusal, respond

_log = logging.getLogger("hone.gateway")


class Guard:
    """Answers every exception that has not begun a response; one that has cannot be answered any more and rises."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            return await self._app(scope, receive, watched)
        except Exception as error:
            if begun:
                raise
            request = Request(scope)
            if refusal(error).status_code >= 500:
                fields = {"request_id": request.state.request_id, "path": request.url.path}
                _log.exception("%s: %s", type(error).__name__, error, extra={"fields": fields})
            return await respond(request, error)(scope, receive, send)
