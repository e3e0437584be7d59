"""/admin: the keys of the tenant: make one, whose secret is shown once, and revoke one."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from nicegui import ui
from starlette.requests import Request

from hone.client.account_resources import CreatedKey, Key
from hone.scopes import SCOPES, Scope
from services.console.pages import administration
from services.console.view import PageView
from services.console.widgets import parts, questions, secrets, tables
from services.console.widgets.markup import Markup, html, join, mono, tag
from services.console.widgets.tables import Column

_MOST = 200
_SCOPES: dict[Scope, str] = {"read": "read: looks", "run": "run: makes and steers runs",
                             "admin": "admin: governs keys and quotas"}
_ENDS = {0: "never", 7: "in 7 days", 30: "in 30 days", 90: "in 90 days", 365: "in a year"}
_COLUMNS = (Column("Key"), Column("Scopes"), Column("Made"), Column("Last used"), Column("Expires"), Column("State"))


async def show(view: PageView, request: Request) -> None:
    """Show the form for a new key and the keys, newest first."""
    if administration.head(view, "Keys", "Who may use this tenant's runs, models and datasets, and how far."):
        await _KeysPage(view, request.query_params.get("after")).load()
    else:
        html(tag("p", administration.whose(view.session.account), class_="note"))


class KeyForm:
    """The fields of a new key, and the place where its secret is shown."""

    def __init__(self, view: PageView, scope: Scope, make: Callable[["KeyForm"], Awaitable[CreatedKey]]) -> None:
        self._view, self._make = view, make
        with ui.element("div").classes("filters"):
            self._name = ui.input("Name").props("outlined dense maxlength=100").classes("search")
            self._scope = ui.select(_SCOPES, value=scope, label="Scope").props("outlined dense")
            self._ends = ui.select(_ENDS, value=0, label="Expires").props("outlined dense")
            self._button = ui.button("Make key", color=None).props("unelevated no-caps").classes("primary")
        self._secret = ui.element("div")
        for element, event in ((self._name, "keydown.enter"), (self._button, "click")):
            element.on(event, lambda: view.tried(self._made))

    @property
    def name(self) -> str:
        return str(self._name.value or "").strip()

    @property
    def scopes(self) -> list[Scope]:
        """The chosen scope and those that it includes."""
        return list(SCOPES[:SCOPES.index(self._scope.value) + 1])

    @property
    def expires_at(self) -> datetime | None:
        return datetime.now(UTC) + timedelta(days=self._ends.value) if self._ends.value else None

    async def _made(self) -> None:
        if not self._button.enabled:
            return  # each request would make another key
        self._button.disable()
        try:
            made = await self._make(self)
        finally:
            self._button.enable()
        self._name.set_value("")
        self._secret.clear()  # no earlier: a late second press is refused, and the first one's secret stays
        with self._secret:
            secrets.show(f"The key {made.name} is made.", made.secret)


class _KeysPage:
    """The form and the list of one tenant's keys."""

    def __init__(self, view: PageView, after: str | None) -> None:
        self._view, self._after = view, after
        with ui.element("section").classes("panel"):
            html(tag("h2", "New key"))
            KeyForm(view, "run", self._make)
        self._table, self._keys = tables.LiveTable(_COLUMNS, self._add_actions), dict[str, Key]()
        self._pager = html(Markup(""))
        html(tag("p", administration.whose(view.session.account), class_="note"))

    async def load(self) -> None:
        found = await self._view.ask(self._view.hone.keys, _MOST, self._after)
        self._keys = {f"{key.id} {state(key)}": key for key in found.data}  # another state has other buttons
        self._table.show({row: cells(key) for row, key in self._keys.items()})
        self._pager.set_content(parts.pager("/admin", "after", self._after, found.next))

    async def _make(self, form: KeyForm) -> CreatedKey:
        made = await self._view.ask(self._view.hone.create_key, form.name, form.scopes, form.expires_at)
        await self.load()
        return made

    def _add_actions(self, row: str) -> None:
        key = self._keys[row]
        if key.revoked_at is None:
            tables.action("Revoke", key.name, lambda: self._view.tried(partial(self._revoke, key)), "plain grave")

    async def _revoke(self, key: Key) -> None:
        own = key.id == self._view.session.account.key_id
        words = "Requests with it are refused from now on. Its runs go on." + (
            " You are signed in with it, and will be signed out." if own else "")
        if await questions.agreed(f"Revoke the key {key.name}?", words, act="Revoke it", leave="Keep it"):
            await self._view.ask(self._view.hone.revoke_key, key.id)
            await self.load()


def cells(key: Key) -> Sequence[object]:
    """Return the cells of a key's row."""
    return [join([tag("strong", key.name), tag("div", mono(f"{key.prefix}…"), class_="faint")]), ", ".join(key.scopes),
            parts.moment(key.created_at), parts.moment(key.last_used_at) if key.last_used_at else "never",
            parts.due(key.expires_at) if key.expires_at else "never", parts.chip(*state(key))]


def state(key: Key) -> tuple[str, str]:
    """Return the state of a key and its tone."""
    if key.revoked_at is not None:
        return "revoked", "off"
    expired = key.expires_at is not None and key.expires_at <= datetime.now(UTC)
    return ("expired", "warn") if expired else ("in use", "good")
