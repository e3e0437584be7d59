"""The answer to a path that no page has: a page for a signed-in browser, otherwise the sign-in page."""

from fastapi.exception_handlers import http_exception_handler
from nicegui import Client
from nicegui.page import page
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from hone.client.errors import NotFound
from services.console import layout
from services.console.pages import sign_in
from services.console.sessions import BrowserSessions
from services.console.widgets import parts
from services.console.widgets.markup import html

_TITLE = "Not found"


async def answer(request: Request, error: Exception, sessions: BrowserSessions) -> Response:
    """Return 404 as a page for browsers, and as plain text for programs."""
    if isinstance(error, HTTPException) and _is_file(request):
        return await http_exception_handler(request, error)
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(f"{_TITLE}: {request.scope['path']}", 404)
    session = sessions.find(request.session["id"])
    if session is None:
        return RedirectResponse(sign_in.path_for(request))
    again = sign_in.path_for(request, ended=True)
    with Client(page(""), request=request) as client, layout.frame(_TITLE, request.url.path, session, again):
        html(parts.problem(NotFound({
            "status": 404, "title": _TITLE, "detail": f"The console has no page {request.scope['path']}."})))
    return client.build_response(request, 404)


def _is_file(request: Request) -> bool:
    """Return whether the path is a file that NiceGUI serves to its pages."""
    return request.url.path.startswith("/_nicegui")
