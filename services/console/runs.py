"""/runs: every run with its live state."""

from typing import Any, get_args

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import RunCounts, RunState, RunSummary
from services.console import formats, parts
from services.console.live_table import LiveTable
from services.console.markup import Markup, join, link, tag
from services.console.parts import RIGHT, Column
from services.console.view import View, html

_COLUMNS = (Column("Run"), Column("State", "state"), Column("Progress"), Column("Reward", RIGHT),
            Column("Base", "base"), Column("Method"), Column("Seed", RIGHT), Column("Created"))
_PAGE, _LARGEST = 50, 500
_ALL = "all"
_START = """hone models add my-base path/to/directory
hone train sort.yaml --follow"""


async def show(view: View, request: Request) -> None:
    """Show the newest runs, and older ones when asked."""
    await _Runs(view).open()


class _Runs:
    """The list: what is shown of it, and how many."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._state, self._search, self._most = _ALL, "", _PAGE
        html(parts.heading("Runs", "What is being trained, and what came of it."))
        self._figures = html(Markup(""))
        self._fields()
        self._table = LiveTable(_COLUMNS)
        self._absent = html(Markup(""))
        self._more = ui.button("Show older runs", on_click=self._older, color=None).props(
            "flat no-caps").classes("plain")

    async def open(self) -> None:
        await self._load()
        self._view.live(self._load)

    def _fields(self) -> None:
        with ui.element("div").classes("filters"):
            search = ui.input(
                "Search by name, id or base", on_change=lambda event: self._narrow(search=event.value)).props(
                "outlined dense clearable debounce=300").classes("search")
            ui.select([_ALL, *get_args(RunState)], value=_ALL, label="State",
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
        asked = (self._state, self._search, self._most)
        counts = await self._view.ask(self._view.hone.run_counts)
        found, more = await self._found()
        if asked != (self._state, self._search, self._most):
            return  # narrowed meanwhile, and read again
        self._figures.set_content(_figures(counts))
        self._table.show({run.id: _cells(run) for run in found})
        self._more.set_visibility(more)
        self._absent.set_content(Markup("") if found else self._nothing())

    async def _found(self) -> tuple[list[RunSummary], bool]:
        """Return the newest runs that fit, as many as are wanted, and whether there are older ones."""
        most, filters, found, after = self._most, self._filters(), list[RunSummary](), None
        while True:
            limit = min(_LARGEST, most - len(found))
            page = await self._view.ask(self._view.hone.runs, limit, after, **filters)
            found, after = [*found, *page.data], page.next
            if after is None or len(found) >= most:
                return found, after is not None

    def _filters(self) -> dict[str, Any]:
        """Return what narrows the list, as the SDK takes it."""
        return {"state": None if self._state == _ALL else self._state, "search": self._search.strip() or None}

    def _nothing(self) -> Markup:
        if any(self._filters().values()):
            return parts.empty("No run fits", "Another state or another word may find it.")
        return parts.empty("No runs yet", "A run is started from a spec; the first one appears here by itself.", _START)


def _figures(counts: RunCounts) -> Markup:
    """Return how all runs stand, whatever the list is narrowed to."""
    if not any(counts.model_dump().values()):
        return Markup("")
    return parts.figures(
        parts.figure("Running", counts.running), parts.figure("Queued or paused", counts.queued + counts.paused),
        parts.figure("Succeeded", counts.succeeded), parts.figure("Failed", counts.failed),
        parts.figure("Cancelled", counts.cancelled))


def _cells(run: RunSummary) -> list[object]:
    return [
        join([link(run.name, f"/runs/{run.id}", class_="strong"), tag("div", run.id, class_="mono faint")]),
        join([state_of(run), tag("div", _why(run), class_="note")]), parts.progress(run.step, run.steps, run.name),
        formats.number(run.reward), run.base or formats.ABSENT, run.algorithm or formats.ABSENT,
        formats.ABSENT if run.seed is None else run.seed, parts.moment(run.created_at)]


def state_of(run: RunSummary) -> Markup:
    """Return a run's state, and what is wanted of it where that is something else."""
    wish = {"pause": "paused", "cancel": "cancelled"}.get(run.desired)
    coming = wish if wish and run.state in ("queued", "running") else None
    return join([parts.chip(run.state), tag("span", f"→ {coming}", class_="note") if coming else ""], " ")


def _why(run: RunSummary) -> str:
    return run.reason or (f"waits for {run.waiting_for}" if run.waiting_for else "")
