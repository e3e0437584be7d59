"""/runs: the list of runs with their live states."""

from collections.abc import Mapping
from typing import Any, get_args

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import RunCounts, RunState, RunSummary
from services.console.view import PageView
from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, html, join, link, tag
from services.console.widgets.tables import RIGHT, Column, LiveTable

_COLUMNS = (Column("Run"), Column("State", "state"), Column("Progress"), Column("Reward", RIGHT),
            Column("Base", "name"), Column("Method", "name"), Column("Seed", RIGHT), Column("Created"))
_PAGE, _LARGEST = 50, 500
_ALL = "all"
_STATES = [_ALL, *(state for state in get_args(RunState) if state != "deleting")]
_START = """hone models add my-base path/to/directory
hone train sort.yaml --follow"""


async def show(view: PageView, request: Request) -> None:
    """Show the newest runs, and older ones when asked."""
    await _RunsPage(view).open()


class _RunsPage:
    """The list of runs with its filters; it shows the newest `_most` runs that fit them."""

    def __init__(self, view: PageView) -> None:
        self._view = view
        self._state, self._search, self._most = _ALL, "", _PAGE
        with ui.element("div").classes("run-head"):
            html(parts.heading("Runs", "Runs in training, and results."))
            html(tag("div", link("Compare", "/runs/compare", class_="button"),
                     link("New run", "/runs/new", class_="button primary"), class_="actions"))
        self._figures = html(Markup(""))
        self._add_filters()
        self._table = LiveTable(_COLUMNS)
        self._absent = html(Markup(""))
        self._more = ui.button("Show older runs", on_click=self._older, color=None).props(
            "flat no-caps").classes("plain")

    async def open(self) -> None:
        await self._load()
        self._view.live(self._load)

    def _add_filters(self) -> None:
        with ui.element("div").classes("filters"):
            search = ui.input(
                "Search by name, id or base", on_change=lambda event: self._narrow(search=event.value)).props(
                "outlined dense clearable debounce=300").classes("search")
            ui.select(_STATES, value=_ALL, label="State",
                      on_change=lambda event: self._narrow(state=event.value)).props("outlined dense")
        self._view.shortcuts.add("/", "Search", lambda: search.run_method("focus"))

    async def _narrow(self, search: str | None = None, state: str | None = None) -> None:
        self._search = self._search if search is None and state is not None else search or ""
        self._state, self._most = state or self._state, _PAGE
        await self._view.tried(self._load)

    async def _older(self) -> None:
        self._most += _PAGE
        await self._view.tried(self._load)

    async def _load(self) -> None:
        filters = (self._state, self._search, self._most)
        counts = await self._view.ask(self._view.hone.run_counts)
        found, more = await newest(self._view, self._most, self._filters())
        if filters != (self._state, self._search, self._most):
            return  # the filters changed meanwhile, and another call reads the list
        self._figures.set_content(_figures(counts))
        self._table.show({run.id: _cells(run) for run in found})
        self._more.set_visibility(more)
        self._absent.set_content(Markup("") if found else self._empty())

    def _filters(self) -> dict[str, Any]:
        """Return the filters as the SDK takes them."""
        return {"state": None if self._state == _ALL else self._state, "search": self._search.strip() or None}

    def _empty(self) -> Markup:
        if any(self._filters().values()):
            return parts.empty("No run fits", "Try another state or another search text.")
        return parts.empty("No runs yet", "A run starts from a spec. The first run appears here by itself.", _START)


async def newest(view: PageView, most: int, filters: Mapping[str, Any]) -> tuple[list[RunSummary], bool]:
    """Return the newest runs that fit the filters of the SDK, at most `most`, and whether there are older ones."""
    found, after = list[RunSummary](), None
    while True:
        limit = min(_LARGEST, most - len(found))
        page = await view.ask(view.hone.runs, limit, after, **filters)
        found, after = [*found, *page.data], page.next
        if after is None or len(found) >= most:
            return found, after is not None


def _figures(counts: RunCounts) -> Markup:
    """Return the number of runs in each state. The filters do not change it."""
    if not any(counts.model_dump().values()):
        return Markup("")
    return parts.figures(
        parts.figure("Running", counts.running), parts.figure("Queued or paused", counts.queued + counts.paused),
        parts.figure("Succeeded", counts.succeeded), parts.figure("Failed", counts.failed),
        parts.figure("Cancelled", counts.cancelled))


def _cells(run: RunSummary) -> list[object]:
    return [
        join([link(run.name, f"/runs/{run.id}", class_="strong"), tag("div", run.id, class_="mono faint")]),
        join([parts.run_state(run), tag("div", _reason(run), class_="note")]),
        parts.progress(run.step, run.steps, run.name), formats.number(run.reward),
        run.base or formats.ABSENT, run.algorithm or formats.ABSENT,
        formats.ABSENT if run.seed is None else run.seed, parts.moment(run.created_at)]


def _reason(run: RunSummary) -> str:
    return run.reason or (f"waits for {run.waiting_for}" if run.waiting_for else "")
