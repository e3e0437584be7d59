"""Composition of the console: every page by its path, the frame around it, and the headers of every response."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from fastapi import FastAPI
from nicegui import app as server
from nicegui import ui
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hone.client import HoneError
from hone.client.errors import Unauthenticated
from services.console import layout
from services.console.pages import (
    audiences,
    audit,
    compare,
    curation,
    datasets,
    examination,
    file_forms,
    grader_checks,
    grader_trial,
    graders,
    judges,
    keys,
    leaderboard,
    matrix,
    memory,
    metrics,
    models,
    new_run,
    noise,
    not_found,
    packages,
    play,
    playground,
    prices,
    quotas,
    regrades,
    routes,
    run,
    runs,
    samples,
    services,
    sign_in,
    storage,
    tenants,
    trajectory,
    usage,
    versions,
)
from services.console.sessions import BrowserSessions
from services.console.view import PageView
from services.console.widgets import parts
from services.console.widgets.markup import html

Show = Callable[[PageView, Request], Awaitable[None]]

PAGES: dict[str, tuple[str, Show]] = {
    "/runs": ("Runs", runs.show),
    "/runs/new": ("New run", new_run.show),
    "/runs/compare": ("Compare runs", compare.show),
    "/runs/{run_id}": ("Run", run.show),
    "/runs/{run_id}/metrics": ("Metrics", metrics.show),
    "/runs/{run_id}/samples": ("Samples", samples.show),
    "/runs/{run_id}/samples/{group_id}/{index}": ("Sample", trajectory.show),
    "/runs/{run_id}/regrades": ("Grade again", regrades.show),
    "/runs/{run_id}/versions": ("Versions", versions.show),
    "/runs/{run_id}/events": ("Events", run.show_events),
    "/runs/{run_id}/spec": ("Spec", run.show_spec),
    "/runs/{run_id}/matrix": ("Matrix", matrix.show),
    "/runs/{run_id}/noise": ("Noise", noise.show),
    "/runs/{run_id}/memory": ("Memory", memory.show),
    "/packages": ("Packages", packages.show),
    "/audiences": ("Audiences", audiences.show),
    "/audiences/{fit_id}": ("Audience", audiences.show_one),
    "/benchmarks": ("Leaderboard", leaderboard.show),
    "/benchmarks/{name}": ("Leaderboard", leaderboard.show),
    "/benchmarks/{name}/{run_id}": ("Examination", examination.show),
    "/runs/{run_id}/curation": ("Curation", curation.show),
    "/models": ("Models", models.show),
    "/models/{name:path}": ("Model", models.show_one),
    "/datasets": ("Datasets", datasets.show),
    "/datasets/{name:path}": ("Dataset", datasets.show_one),
    "/playground": ("Playground", playground.show),
    "/play": ("Play", play.show),
    "/routes": ("Routes", routes.show),
    "/routes/{name}": ("Route", routes.show_one),
    "/graders": ("Graders", graders.show),
    "/graders/try": ("Try graders", grader_trial.show),
    "/judges": ("Judges", judges.show),
    "/graders/checks": ("Checks", grader_checks.show),
    "/services": ("Services", services.show),
    "/usage": ("Usage", usage.show),
    "/admin": ("Keys", keys.show),
    "/admin/quotas": ("Quotas", quotas.show),
    "/admin/prices": ("Prices", prices.show),
    "/admin/storage": ("Storage", storage.show),
    "/admin/audit": ("Audit log", audit.show),
    "/admin/tenants": ("Tenants", tenants.show),
}
"""Path -> title, and the function that shows the page."""

HEADERS: Mapping[str, str] = {
    # NiceGUI starts its pages with an inline script, and Vue compiles templates in the browser.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
                               "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
                               "frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
}
"""Headers of every response: pages load files from this server only, run in no frame, and send no referrer."""

_STYLE = Path(__file__).with_name("style.css")
_ICON = Path(__file__).with_name("favicon.svg")
_MOST_BODY = file_forms.MOST + 2**20  # the files and what is around them
_RECONNECT_S = 60.0  # a browser that comes back within it finds its page as it was, forms and questions too
_ANSWER_S = 60.0  # longest time of a page to appear
_log = logging.getLogger("hone.console")


def create(gateway_url: str, secret: str) -> FastAPI:
    """Return the application. `secret` signs the cookies that identify browsers."""
    sessions = BrowserSessions(gateway_url)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, middleware=[
        Middleware(SecurityHeaders), Middleware(BodyBounds)])
    _register(sessions)
    ui.add_css(_STYLE.read_text(), shared=True)
    ui.add_head_html(layout.SCRIPT, shared=True)
    ui.run_with(app, title="Hone", favicon=_ICON, dark=None, tailwind=False, storage_secret=secret,
                show_welcome_message=False, reconnect_timeout=_RECONNECT_S)
    return app


def _register(sessions: BrowserSessions) -> None:
    for path, (title, show) in PAGES.items():
        ui.page(path, title=f"{title} · Hone", response_timeout=_ANSWER_S)(_framed(title, show, sessions))

    @ui.page(sign_in.PATH, title="Sign in · Hone")
    def sign_in_page(request: Request) -> None:
        sign_in.show(request, sessions)

    @server.exception_handler(404)
    async def absent(request: Request, error: Exception) -> Response:
        return await not_found.answer(request, error, sessions)

    @server.get("/")
    def home() -> Response:
        return RedirectResponse("/runs")

    @server.get("/healthz")
    def alive() -> dict[str, bool]:
        return {"ok": True}

    @server.get("/exports/{export_id}/archive")
    async def export_archive(request: Request, export_id: str) -> Response:
        return await versions.download(request, sessions, export_id)

    @server.get("/exports/{export_id}/files/{name}")
    async def export_file(request: Request, export_id: str, name: str) -> Response:
        return await versions.download(request, sessions, export_id, name)

    @server.post("/sign-out")
    def sign_out(request: Request) -> Response:
        sessions.close(request.session["id"])
        return RedirectResponse(sign_in.PATH, status_code=303)


def _framed(title: str, show: Show, sessions: BrowserSessions) -> Callable[[Request], Awaitable[Response | None]]:
    async def page(request: Request) -> Response | None:
        session = sessions.find(request.session["id"])
        if session is None:
            return RedirectResponse(sign_in.path_for(request))
        with layout.frame(title, request.url.path, session, sign_in.path_for(request, ended=True)) as view:
            return await _shown(show, view, request)

    return page


async def _shown(show: Show, view: PageView, request: Request) -> Response | None:
    """Show a page, or an error in its place."""
    with ui.element("div").classes("content") as content:
        try:
            await show(view, request)
        except Unauthenticated:
            return RedirectResponse(sign_in.path_for(request, ended=True))
        except HoneError as error:
            _show_error(content, error)
        except Exception as error:
            _log.exception("%s: %s", request.url.path, type(error).__name__)
            _show_error(content, parts.unexpected(error))
    return None


def _show_error(content: ui.element, error: HoneError) -> None:
    content.clear()
    with content:
        html(parts.problem(error))


class BodyBounds:
    """Refuses requests with more than a form of files holds, before their bodies are read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


def _refusal(headers: Headers) -> Response | None:
    if "transfer-encoding" in headers:
        return PlainTextResponse("Send a Content-Length.", 411)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > _MOST_BODY:
        return PlainTextResponse(f"At most {_MOST_BODY} bytes.", 413)
    return None


class SecurityHeaders:
    """Adds HEADERS to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, headed)
