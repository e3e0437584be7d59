"""One open page: the client of its browser's session, its keyboard shortcuts, and its place for error messages."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, ParamSpec, TypeVar

from nicegui import ui
from nicegui.events import KeyEventArguments

from hone import scopes
from hone.client import Client, HoneError
from hone.client.errors import Unauthenticated
from hone.scopes import Scope
from services.console.sessions import BrowserSession
from services.console.widgets import parts
from services.console.widgets.markup import Markup, tag
from services.console.widgets.tables import Column, table

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

REFRESH_S = 2.0
_MOST_SAID = 5
_log = logging.getLogger("hone.console")

_TYPING: list[Literal["input", "select", "button", "textarea"]] = ["input", "select", "textarea"]
_LEADER = "g"


@dataclass(frozen=True)
class Shortcut:
    """The meaning of a key, and the action that it starts."""

    meaning: str
    action: Callable[[], object]


class Shortcuts:
    """The keyboard shortcuts of one page; `g` waits for a second key."""

    def __init__(self) -> None:
        self._by_keys: dict[str, Shortcut] = {}
        self._led = False
        ui.keyboard(self._pressed, repeating=False, ignore=_TYPING)

    def add(self, keys: str, meaning: str, action: Callable[[], object]) -> None:
        """Let `keys` start an action: one key such as "/", or two keys one after the other such as "g r"."""
        self._by_keys[keys] = Shortcut(meaning, action)

    def pages(self, places: dict[str, tuple[str, str]]) -> None:
        """Let `g` and a letter open a page: letter -> title and path."""
        for letter, (title, path) in places.items():
            self.add(f"{_LEADER} {letter}", title, partial(ui.navigate.to, path))

    def find(self, keys: str) -> Shortcut | None:
        """Return the shortcut of a pressed key, given the key that was pressed before it."""
        keys_so_far, self._led = (f"{_LEADER} {keys}" if self._led else keys), keys == _LEADER and not self._led
        return self._by_keys.get(keys_so_far)

    def _pressed(self, event: KeyEventArguments) -> None:
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        if str(event.key.name) in ("Shift", "CapsLock"):
            return
        shortcut = self.find(str(event.key.name))
        if shortcut is not None:
            shortcut.action()

    def listed(self) -> Markup:
        """Return every key with its meaning."""
        rows = [[_keys(keys), shortcut.meaning] for keys, shortcut in self._by_keys.items()]
        return table([Column("Key"), Column("Meaning")], rows)


def _keys(keys: str) -> Markup:
    return tag("span", *(tag("kbd", key) for key in keys.split(" ")))


class PageView:
    """One open page of one browser."""

    def __init__(self, session: BrowserSession, shortcuts: Shortcuts, notice: ui.html, again: str) -> None:
        """`again` is the path of the sign-in page that leads back to this page, for a session that has ended."""
        self.session, self.shortcuts, self._notice, self._again = session, shortcuts, notice, again

    @property
    def hone(self) -> Client:
        """The SDK client of the signed-in person. Its calls block, so pages make them with `ask`."""
        return self.session.client

    def lacks(self, needed: Scope, operator: bool = False) -> str:
        """Return why the person's key may not do what a scope, or the operator's, allows; nothing if it may."""
        account = self.session.account
        if not scopes.includes(account.scopes, needed):
            return f"This needs a key with the scope {needed}; your key {account.key} has {', '.join(account.scopes)}."
        if operator and not account.operator:
            return (f"This needs an admin key of the operator; your key {account.key} belongs to the tenant "
                    f"{account.tenant}.")
        return ""

    def permit(self, button: ui.button, needed: Scope, operator: bool = False) -> ui.button:
        """Disable a button that the person's key may not use, and let its title say why."""
        reason = self.lacks(needed, operator)
        if reason:
            button.props["title"] = reason
            button.disable()
        return button

    async def ask(self, call: Callable[Given, Answer], *args: Given.args, **kwargs: Given.kwargs) -> Answer:
        """Make a call of the SDK in a thread, beside the event loop.

        Raises HoneError; Unauthenticated after a sign-out on another page, and when the session was idle for too long.
        """
        if not self.session.open or self.session.idle:
            self.session.close()
            raise _signed_out()
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except RuntimeError:
            if self.session.open:
                raise
            raise _signed_out() from None  # another page signed out meanwhile and closed the client

    def live(self, update: Callable[[], Awaitable[object]], every_s: float = REFRESH_S) -> ui.timer:
        """Call `update` regularly while the page is open. A failure shows an error and leaves the content."""
        page = ui.context.client

        async def tick() -> None:
            if page.has_socket_connection:  # a page that its browser left is kept for a while
                await self._reported(update)

        return ui.timer(every_s, tick, immediate=False)

    async def tried(self, action: Callable[[], Awaitable[object]]) -> None:
        """Do an action of the person and show its error. It counts as use of the session, unless that is idle."""
        if not self.session.idle:
            self.session.use()
        await self._reported(action)

    async def _reported(self, action: Callable[[], Awaitable[object]]) -> None:
        try:
            await action()
        except Unauthenticated:
            ui.navigate.to(self._again)
        except HoneError as error:
            self._show(error)
        except Exception as error:
            _log.exception("%s while a page was open", type(error).__name__)
            self._show(parts.unexpected(error))
        else:
            self._notice.set_content("")

    def _show(self, error: HoneError) -> None:
        left = f"; and {len(error.problems) - _MOST_SAID} more" if len(error.problems) > _MOST_SAID else ""
        said = "; ".join(map(str, error.problems[:_MOST_SAID])) + left or error.detail or str(error)
        self._notice.set_content(tag("div", said, class_="notice", role="status"))


def _signed_out() -> Unauthenticated:
    return Unauthenticated({"status": 401, "title": "Signed out", "detail": "This session was signed out."})
