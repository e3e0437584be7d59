"""/runs/{id}/samples: the samples of a run, filtered by purpose, status, step, score and text."""

from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import TrajectoryRow
from hone.trajectory.records import PREVIEW
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono
from services.console.widgets.tables import RIGHT, Column

_COLUMNS = (Column("Sample"), Column("Purpose"), Column("Step", RIGHT), Column("Status"), Column("Score", RIGHT),
            Column("Ended"), Column("Tokens", RIGHT), Column("Answer", "wide"))
_PAGE = 50
_ANY = "any"
_PURPOSES = (_ANY, "train", "eval", "probe", "pilot")
_STATUSES = (_ANY, "ok", "no_answer", "timeout_candidate", "infra_error", "judge_error", "timeout_grader",
             "invalid_spec")


async def show(view: PageView, request: Request) -> None:
    """Show samples in the order of their groups. The query parameter `step` sets the filter of the step."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    RunHeader(view, run, "Samples")
    step = request.query_params.get("step", "")
    await _SamplesPage(view, run.id, int(step) if step.isdecimal() else None).load()


class _SamplesPage:
    """The list of samples and its filters."""

    def __init__(self, view: PageView, run_id: str, step: int | None) -> None:
        self._view, self._run_id = view, run_id
        self._rows: list[TrajectoryRow] = []
        self._next: str | None = None
        with ui.element("div").classes("filters"):
            self._add_filters(step)
            html(link("Grade again", f"/runs/{run_id}/regrades", class_="button small"))
        self._listed = html(Markup(""))
        self._more = ui.button("Show more", on_click=lambda: view.tried(self._append), color=None).props(
            "flat no-caps").classes("plain")

    def _add_filters(self, step: int | None) -> None:
        changed = self._changed
        self._text = ui.input(f"Search answers' first {PREVIEW} characters", on_change=changed).props(
            "outlined dense clearable debounce=300").classes("search")
        self._purpose, self._status = (
            ui.select(list(choices), value=_ANY, label=label, on_change=changed).props("outlined dense")
            for label, choices in (("Purpose", _PURPOSES), ("Status", _STATUSES)))
        self._step, self._low, self._high = (
            ui.number(label, value=value, on_change=changed).props("outlined dense debounce=300").classes("short")
            for label, value in (("Step", step), ("Score from", None), ("Score to", None)))
        self._view.shortcuts.add("/", "Search the beginning of answers", lambda: self._text.run_method("focus"))

    async def _changed(self) -> None:
        await self._view.tried(self.load)

    async def load(self) -> None:
        """Read the first page that fits the filters. Raises HoneError."""
        self._rows, self._next = [], None
        await self._append()

    async def _append(self) -> None:
        rows, after = self._rows, self._next
        page = await self._view.ask(self._view.hone.trajectories, self._run_id, _PAGE, after, **self._filters())
        if rows is not self._rows:
            return  # the filters changed meanwhile, or the button was pressed twice
        self._rows, self._next = [*rows, *page.data], page.next
        self._listed.set_content(self._table())
        self._more.set_visibility(page.next is not None)

    def _filters(self) -> dict[str, Any]:
        chosen = {"purpose": self._purpose.value, "status": self._status.value}
        step = self._step.value
        return {
            **{name: None if value == _ANY else value for name, value in chosen.items()},
            "step": None if step is None else max(0, int(step)), "min_score": self._low.value,
            "max_score": self._high.value, "text": self._text.value or None}

    def _table(self) -> Markup:
        if self._rows:
            return tables.table(_COLUMNS, [_cells(self._run_id, row) for row in self._rows])
        if any(value is not None for value in self._filters().values()):
            return parts.empty("No sample fits", "Try fewer filters. The search reads the first "
                               f"{PREVIEW} characters of a sample's last answer.")
        return parts.empty("No samples yet", "Samples appear here once their group is ready.")


def _cells(run_id: str, row: TrajectoryRow) -> list[object]:
    purpose = ", ".join(filter(None, (row.purpose, row.series, row.source)))
    return [
        link(f"{row.group_id} / {row.index}", path(run_id, row.group_id, row.index), class_="strong"), purpose,
        row.step, parts.chip(row.status), formats.number(row.score), row.finish_reason,
        join([formats.count(row.prompt_tokens), formats.count(row.completion_tokens)], " + "),
        mono(row.preview or "(empty)")]


def path(run_id: str, group_id: int, index: int) -> str:
    """Return the path of a sample's page."""
    return f"/runs/{run_id}/samples/{group_id}/{index}"
