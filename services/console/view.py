"""What a page has at hand: the caller's client, shortcuts, and a place to say that something is wrong."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from nicegui import ui

from hone.client import Client, HoneError
from hone.client.errors import Unauthenticated
from services.console import parts
from services.console.markup import Markup, tag
from services.console.sessions import Session
from services.console.shortcuts import Shortcuts

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

REFRESH_S = 2.0
_log = logging.getLogger("hone.console")


def html(content: Markup, kind: str = "div") -> ui.html:
    """Put markup, which is escaped already, on the page."""
    return ui.html(content, sanitize=False, tag=kind).classes("markup")


class View:
    """One open page of one browser."""

    def __init__(self, session: Session, shortcuts: Shortcuts, notice: ui.html) -> None:
        self.session, self.shortcuts, self._notice = session, shortcuts, notice

    @property
    def hone(self) -> Client:
        """The SDK client of whoever is signed in; its calls wait, so `ask` makes them."""
        return self.session.client

    async def ask(self, call: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        """Make a call of the SDK beside the event loop.

        Raises HoneError, also after a sign-out elsewhere and where nobody has used the session for too long.
        """
        if not self.session.open or self.session.idle:
            self.session.close()
            raise _signed_out()
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except RuntimeError:
            if self.session.open:
                raise
            raise _signed_out() from None  # meanwhile, and its client is closed

    def live(self, update: Callable[[], Awaitable[object]], every_s: float = REFRESH_S) -> ui.timer:
        """Call `update` again and again while the page is open; what fails is said, and what was shown stays."""
        async def tick() -> None:
            await self._told(update)

        return ui.timer(every_s, tick, immediate=False)

    async def tried(self, action: Callable[[], Awaitable[object]]) -> None:
        """Do what somebody asked for, and say so where it fails; an idle session is used again only by a new page."""
        if not self.session.idle:
            self.session.use()
        await self._told(action)

    async def _told(self, action: Callable[[], Awaitable[object]]) -> None:
        try:
            await action()
        except Unauthenticated:
            ui.navigate.to("/sign-in")
        except HoneError as error:
            self._say(error)
        except Exception as error:
            _log.exception("%s while a page was open", type(error).__name__)
            self._say(parts.unexpected(error))
        else:
            self._notice.set_content("")

    def _say(self, error: HoneError) -> None:
        self._notice.set_content(tag("div", error.detail or str(error), class_="notice", role="status"))


def _signed_out() -> Unauthenticated:
    return Unauthenticated({"status": 401, "title": "Signed out", "detail": "This session was signed out."})
