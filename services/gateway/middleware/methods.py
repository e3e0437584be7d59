"""Methods of paths: HEAD is a GET without its body; a method that a path lacks is refused with those that it has."""

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.spec.problems import Problem
from services.gateway.declarations import Declarations
from services.gateway.middleware.errors import MethodNotAllowed, NotFound


class Methods:
    """Refuses paths and methods that do not exist, before the key's scopes and any body are looked at."""

    def __init__(self, app: ASGIApp, declarations: Declarations) -> None:
        self._app, self._declarations = app, declarations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        expect_known(self._declarations, scope["method"], scope["path"])
        if scope["method"] == "HEAD":
            return await _without_body(self._app, scope, receive, send)
        return await self._app(scope, receive, send)


def expect_known(declarations: Declarations, method: str, path: str) -> None:
    """Raise NotFound for a path that no route has, and MethodNotAllowed for a method that the path lacks."""
    known = declarations.methods(path)
    if not known:
        shorter = path.rstrip("/")
        hint = f"; did you mean {shorter}?" if shorter != path and declarations.methods(shorter) else ""
        raise NotFound(f"Unknown path {path}{hint}. GET /docs lists all paths.")
    if method not in known:
        raise MethodNotAllowed([Problem("method", method, ", ".join(known))], {"Allow": ", ".join(known)})


class _Enough(OSError):
    """The head of the response is sent: nobody wants its body."""


async def _without_body(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a HEAD as the GET would be answered, and end a stream at its first piece.

    The scope keeps its identity, because the router leaves the route there; whoever logs it sees HEAD.
    """
    begun = False

    async def head(message: Message) -> None:
        nonlocal begun
        if message["type"] == "http.response.start":
            begun, scope["method"] = True, "HEAD"
            await send(message)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif message.get("more_body", False):
            raise _Enough

    scope["method"] = "GET"
    try:
        await app(scope, receive, head)
    except (_Enough, ClientDisconnect):
        if not begun:
            raise
    finally:
        scope["method"] = "HEAD"
