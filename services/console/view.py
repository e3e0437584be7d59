"""What a page has at hand: the caller's client, shortcuts, and a place to say that something is wrong."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from nicegui import ui

from hone.client import Client, HoneError
from hone.client.errors import Unauthenticated
from services.console.markup import Markup, tag
from services.console.sessions import Session
from services.console.shortcuts import Shortcuts

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

REFRESH_S = 2.0


def html(content: Markup, kind: str = "div") -> ui.html:
    """Put markup, which is escaped already, on the page."""
    return ui.html(content, sanitize=False, tag=kind)


class View:
    """One open page of one browser."""

    def __init__(self, session: Session, shortcuts: Shortcuts, notice: ui.html) -> None:
        self.session, self.shortcuts, self._notice = session, shortcuts, notice

    @property
    def hone(self) -> Client:
        """The SDK client of whoever is signed in; its calls wait, so `ask` makes them."""
        return self.session.client

    async def ask(self, call: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        """Make a call of the SDK beside the event loop. Raises HoneError, also after a sign-out elsewhere."""
        if not self.session.open:
            raise _signed_out()
        self.session.use()
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except RuntimeError:
            if self.session.open:
                raise
            raise _signed_out() from None  # meanwhile, and its client is closed

    def live(self, update: Callable[[], Awaitable[object]], every_s: float = REFRESH_S) -> ui.timer:
        """Call `update` again and again while the page is open; what fails is said, and what was shown stays."""
        async def tick() -> None:
            await self.tried(update)

        return ui.timer(every_s, tick, immediate=False)

    async def tried(self, action: Callable[[], Awaitable[object]]) -> None:
        """Do something that may fail, and say so where it does."""
        try:
            await action()
        except Unauthenticated:
            ui.navigate.to("/sign-in")
        except HoneError as error:
            self._notice.set_content(tag("div", error.detail or str(error), class_="notice", role="status"))
        else:
            self._notice.set_content("")


def _signed_out() -> Unauthenticated:
    return Unauthenticated({"status": 401, "title": "Signed out", "detail": "This session was signed out."})
