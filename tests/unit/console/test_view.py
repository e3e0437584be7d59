"""The refresh of an open page does not count as use of the session, and every failure is shown."""

import asyncio
import logging

import pytest
from nicegui import Client as Page
from nicegui import ui
from nicegui.page import page
from starlette.requests import Request

from services.console import app, layout
from services.console.sessions import IDLE_S, BrowserSession, BrowserSessions
from services.console.view import PageView, Shortcuts
from services.console.widgets.markup import Markup, html
from tests.support.console.accounts import ACCOUNT, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(clock: Clock) -> BrowserSession:
    sessions = BrowserSessions("http://127.0.0.1:1", clock)
    return sessions.open("browser", sessions.client("tml-k"), ACCOUNT)


@pytest.fixture
def request_() -> Request:
    return Request({"type": "http", "method": "GET", "path": "/runs", "raw_path": b"/runs", "query_string": b"",
                    "headers": [], "server": ("console", 80), "scheme": "http"})


async def _answered() -> None:
    """Succeed."""


async def _broken() -> None:
    raise ZeroDivisionError("a secret")


def test_reading_again_and_again_keeps_no_session_open(
    clock: Clock, session: BrowserSession, request_: Request, monkeypatch: pytest.MonkeyPatch,
) -> None:
    went: list[str] = []
    monkeypatch.setattr(ui.navigate, "to", went.append)

    async def look() -> None:
        with Page(page(""), request=request_) as client, layout.frame("Runs", "/runs", session, "/sign-in") as view:
            ticks = view.live(lambda: view.ask(int))
            clock.now = IDLE_S + 1
            await ticks.callback()  # type: ignore[misc]
            assert not went, "a page that no browser looks at asks for nothing"
            client.tab_id = "tab"
            for clock.now in (IDLE_S / 2, IDLE_S, IDLE_S + 1):
                await ticks.callback()  # type: ignore[misc]

    asyncio.run(look())
    assert went == ["/sign-in"]
    assert not session.open


def test_what_one_does_keeps_it_open(clock: Clock, session: BrowserSession, request_: Request) -> None:
    with Page(page(""), request=request_), layout.frame("Runs", "/runs", session, "/sign-in") as view:
        clock.now = IDLE_S
        asyncio.run(view.tried(_answered))
        clock.now += IDLE_S
        asyncio.run(view.tried(_answered))
    assert session.open
    assert not session.idle


def test_an_unexpected_error_of_an_open_page_is_said_and_logged(
    session: BrowserSession, request_: Request, caplog: pytest.LogCaptureFixture,
) -> None:
    with Page(page(""), request=request_):
        notice = html(Markup(""))
        view = PageView(session, Shortcuts(), notice, "/sign-in")
        asyncio.run(view.tried(_broken))
    assert "ZeroDivisionError" in notice.content
    assert "a secret" not in notice.content
    assert [record.exc_info is not None for record in caplog.records if record.levelno == logging.ERROR] == [True]


def test_an_unexpected_error_of_a_new_page_is_a_problem(
    session: BrowserSession, request_: Request, caplog: pytest.LogCaptureFixture,
) -> None:
    async def show(view: PageView, request: Request) -> None:  # noqa: ARG001
        html(Markup("half of it"))
        await _broken()

    async def look() -> str:
        with Page(page(""), request=request_) as client:
            view = PageView(session, Shortcuts(), html(Markup("")), "/sign-in")
            assert await app._shown(show, view, request_) is None
            return "".join(one.content for one in client.elements.values() if isinstance(one, ui.html))

    shown = asyncio.run(look())
    assert "Something went wrong in the console" in shown
    assert "half of it" not in shown
    assert any(record.exc_info for record in caplog.records)
