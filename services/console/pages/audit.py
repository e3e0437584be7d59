"""/admin/audit: who changed what in the tenant, newest first."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.account_resources import AuditEntry
from services.console.pages import administration
from services.console.view import PageView
from services.console.widgets import parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import Column

_PAGE, _MOST_KEYS = 50, 200
_SPANS = {"all": None, "last hour": timedelta(hours=1), "last 24 hours": timedelta(days=1),
          "last 7 days": timedelta(days=7), "last 30 days": timedelta(days=30)}
_COLUMNS = (Column("When"), Column("Key", "name"), Column("Action"), Column("Subject", "wide"), Column("From"),
            Column("Request"))


async def show(view: PageView, request: Request) -> None:
    """Show the newest requests that changed something, and older ones when asked."""
    if administration.head(view, "Audit log", "Every request of the tenant that changed something."):
        keys = await view.ask(view.hone.keys, _MOST_KEYS)
        await _AuditPage(view, {key.id: key.name for key in keys.data}).load()


class _AuditPage:
    """The filters, and the entries that were read so far."""

    def __init__(self, view: PageView, keys: dict[str, str]) -> None:
        self._view, self._entries, self._actions = view, list[AuditEntry](), set[str]()
        self._after: str | None = None
        with ui.element("div").classes("filters"):
            self._action = self._select("Action", {"": "all"})
            self._key = self._select("Key", {"": "all", **keys})
            self._span = self._select("Time", {name: name for name in _SPANS}, "all")
            self._search = ui.input("Search every column", on_change=lambda: view.tried(self.load)).props(
                "outlined dense clearable debounce=300").classes("search")
        view.shortcuts.add("/", "Search", lambda: self._search.run_method("focus"))
        self._table = html(Markup(""))
        self._more = ui.button("Show older entries", on_click=lambda: view.tried(self._read_more), color=None).props(
            "flat no-caps").classes("plain")

    def _select(self, label: str, options: dict[str, str], value: str = "") -> ui.select:
        return ui.select(options, value=value, label=label, on_change=lambda: self._view.tried(self.load)).props(
            "outlined dense")

    def _filters(self) -> dict[str, Any]:
        """Return the filters as the SDK takes them."""
        span = _SPANS[self._span.value]
        return {"action": self._action.value or None, "key": self._key.value or None,
                "search": (self._search.value or "").strip() or None,
                "since": datetime.now(UTC) - span if span else None}

    async def load(self) -> None:
        """Read the newest entries that fit the filters."""
        self._entries, self._after = [], None
        await self._read_more()

    async def _read_more(self) -> None:
        filters = self._filters()
        found = await self._view.ask(self._view.hone.audit, _PAGE, self._after, **filters)
        self._entries, self._after = [*self._entries, *found.data], found.next
        self._more.set_visibility(found.next is not None)
        self._table.set_content(_table(self._entries, any(filters.values())))
        self._actions |= {one.action for one in self._entries}
        self._action.set_options({"": "all", **{one: one for one in sorted(self._actions)}})


def _table(entries: Sequence[AuditEntry], filtered: bool) -> Markup:
    if not entries:
        return parts.empty("No entry fits", "Try other filters.") if filtered else parts.empty(
            "No entries yet", "Each request that changes something leaves an entry.")
    return tables.table(_COLUMNS, [cells(one) for one in entries])


def cells(one: AuditEntry) -> list[object]:
    """Return the cells of an entry's row."""
    who = one.key or (mono(one.key_id) if one.key_id else "in the database")
    return [parts.moment(one.created_at), who, mono(one.action), _subject(one), mono(one.address or "–"),
            mono(one.request_id)]


def _subject(one: AuditEntry) -> Markup:
    """Return the subject of an action, with a link to its page if it has one."""
    if one.subject.startswith("run_"):
        return link(one.subject, f"/runs/{one.subject}", class_="mono")
    return join([mono(one.subject)]) if one.subject else tag("span", "–")
