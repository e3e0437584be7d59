"""The console in one picture: every page by its path, and what stands around each."""

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from fastapi import FastAPI
from nicegui import app as pages
from nicegui import ui
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hone.client import HoneError
from hone.client.errors import Unauthenticated
from services.console import (
    absence,
    datasets,
    downloads,
    graders,
    layout,
    metrics,
    models,
    parts,
    run,
    runs,
    samples,
    services,
    sign_in,
    trajectory,
    usage,
    versions,
)
from services.console.headers import Headers
from services.console.sessions import Sessions
from services.console.view import View, html

Show = Callable[[View, Request], Awaitable[None]]

PAGES: dict[str, tuple[str, Show]] = {
    "/runs": ("Runs", runs.show),
    "/runs/{run_id}": ("Run", run.show),
    "/runs/{run_id}/metrics": ("Metrics", metrics.show),
    "/runs/{run_id}/samples": ("Samples", samples.show),
    "/runs/{run_id}/samples/{group_id}/{index}": ("Sample", trajectory.show),
    "/runs/{run_id}/versions": ("Versions", versions.show),
    "/runs/{run_id}/events": ("Events", run.show_events),
    "/runs/{run_id}/spec": ("Spec", run.show_spec),
    "/models": ("Models", models.show),
    "/models/{name:path}": ("Model", models.show_one),
    "/datasets": ("Datasets", datasets.show),
    "/datasets/{name:path}": ("Dataset", datasets.show_one),
    "/graders": ("Graders", graders.show),
    "/services": ("Services", services.show),
    "/usage": ("Usage", usage.show),
}
"""Path -> title and page."""

_STYLE = Path(__file__).with_name("style.css")
_ICON = Path(__file__).with_name("favicon.svg")
_ANSWER_S = 60.0
_log = logging.getLogger("hone.console")


def create(gateway_url: str, secret: str) -> FastAPI:
    """Return the application; `secret` signs the cookies that tell browsers apart."""
    sessions = Sessions(gateway_url)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, middleware=[Middleware(Headers)])
    _register(sessions)
    ui.add_css(_STYLE.read_text(), shared=True)
    ui.run_with(app, title="Hone", favicon=_ICON, dark=None, tailwind=False, storage_secret=secret,
                show_welcome_message=False)
    return app


def _register(sessions: Sessions) -> None:
    for path, (title, show) in PAGES.items():
        ui.page(path, title=f"{title} · Hone", response_timeout=_ANSWER_S)(_framed(title, show, sessions))

    @ui.page(sign_in.PATH, title="Sign in · Hone")
    def gate(request: Request) -> None:
        sign_in.show(request, sessions)

    @pages.exception_handler(404)
    async def absent(request: Request, error: Exception) -> Response:
        return await absence.answer(request, error, sessions)

    @pages.get("/")
    def first() -> Response:
        return RedirectResponse("/runs")

    @pages.get("/healthz")
    def alive() -> dict[str, bool]:
        return {"ok": True}

    @pages.get("/exports/{export_id}/archive")
    async def archive(request: Request, export_id: str) -> Response:
        return await downloads.answer(request, sessions, export_id)

    @pages.get("/exports/{export_id}/files/{name}")
    async def file(request: Request, export_id: str, name: str) -> Response:
        return await downloads.answer(request, sessions, export_id, name)

    @pages.post("/sign-out")
    def leave(request: Request) -> Response:
        sessions.close(request.session["id"])
        return RedirectResponse(sign_in.PATH, status_code=303)


def _framed(title: str, show: Show, sessions: Sessions) -> Callable[[Request], Awaitable[Response | None]]:
    async def page(request: Request) -> Response | None:
        session = sessions.find(request.session["id"])
        if session is None:
            return RedirectResponse(sign_in.place(request))
        with layout.frame(title, request.url.path, session) as view:
            return await _shown(show, view, request)

    return page


async def _shown(show: Show, view: View, request: Request) -> Response | None:
    """Show a page, or why it cannot be shown."""
    with ui.element("div").classes("content") as content:
        try:
            await show(view, request)
        except Unauthenticated:
            return RedirectResponse(sign_in.place(request))
        except HoneError as error:
            _instead(content, error)
        except Exception as error:
            _log.exception("%s: %s", request.url.path, type(error).__name__)
            _instead(content, parts.unexpected(error))
    return None


def _instead(content: ui.element, error: HoneError) -> None:
    content.clear()
    with content:
        html(parts.problem(error))
