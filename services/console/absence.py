"""What a path that no page has is answered with: the console's own page to who is signed in, else the way there."""

from fastapi.exception_handlers import http_exception_handler
from nicegui import Client
from nicegui.page import page
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from hone.client.errors import NotFound
from services.console import layout, parts, sign_in
from services.console.sessions import Sessions
from services.console.view import html

_TITLE = "Not found"


async def answer(request: Request, error: Exception, sessions: Sessions) -> Response:
    """Return 404 as a page where a person looks, in words where a program asks."""
    if isinstance(error, HTTPException) and _is_file(request):
        return await http_exception_handler(request, error)
    if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
        return PlainTextResponse(f"{_TITLE}: {request.scope['path']}", 404)
    session = sessions.find(request.session["id"])
    if session is None:
        return RedirectResponse(sign_in.place(request))
    with Client(page(""), request=request) as client, layout.frame(_TITLE, request.url.path, session):
        html(parts.problem(NotFound({
            "status": 404, "title": _TITLE, "detail": f"The console has no page {request.scope['path']}."})))
    return client.build_response(request, 404)


def _is_file(request: Request) -> bool:
    """Tell whether the path is one of NiceGUI's own, which its pages load."""
    return request.url.path.startswith("/_nicegui")
