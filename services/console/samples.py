"""/runs/{id}/samples: a run's samples, narrowed by what they are and what they say."""

from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import TrajectoryRow
from hone.trajectory.records import PREVIEW
from services.console import formats, parts
from services.console.markup import Markup, join, link
from services.console.parts import RIGHT, Column
from services.console.run_header import RunHeader
from services.console.view import View, html

_COLUMNS = (Column("Sample"), Column("Purpose"), Column("Step", RIGHT), Column("Status"), Column("Score", RIGHT),
            Column("Ended"), Column("Tokens", RIGHT), Column("Answer", "wide"))
_PAGE = 50
_ANY = "any"
_PURPOSES = (_ANY, "train", "eval", "probe", "pilot")
_STATUSES = (_ANY, "ok", "no_answer", "timeout_candidate", "infra_error", "judge_error", "timeout_grader",
             "invalid_spec")


async def show(view: View, request: Request) -> None:
    """Show samples in the order of their groups; the address may name a step."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    RunHeader(view, run, "Samples")
    step = request.query_params.get("step", "")
    await _Samples(view, run.id, int(step) if step.isdecimal() else None).load()


class _Samples:
    """The list and its filters."""

    def __init__(self, view: View, run_id: str, step: int | None) -> None:
        self._view, self._run_id = view, run_id
        self._rows: list[TrajectoryRow] = []
        self._next: str | None = None
        with ui.element("div").classes("filters"):
            self._fields(step)
        self._listed = html(Markup(""))
        self._more = ui.button("Show more", on_click=lambda: view.tried(self._append), color=None).props(
            "flat no-caps").classes("plain")

    def _fields(self, step: int | None) -> None:
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
            return  # asked twice, or narrowed meanwhile
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
            return parts.table(_COLUMNS, [_cells(self._run_id, row) for row in self._rows])
        if any(value is not None for value in self._filters().values()):
            return parts.empty("No sample fits", "Fewer filters may find one; search reads the first "
                               f"{PREVIEW} characters of a sample's last answer.")
        return parts.empty("No samples yet", "They are listed once their group is ready.")


def _cells(run_id: str, row: TrajectoryRow) -> list[object]:
    purpose = f"{row.purpose}, {row.series}" if row.series else row.purpose
    return [
        link(f"{row.group_id} / {row.index}", path(run_id, row.group_id, row.index), class_="strong"), purpose,
        row.step, parts.chip(row.status), score(row.score), row.finish_reason,
        join([formats.count(row.prompt_tokens), formats.count(row.completion_tokens)], " + "),
        parts.mono(row.preview or "(empty)")]


def path(run_id: str, group_id: int, index: int) -> str:
    """Return a sample's page."""
    return f"/runs/{run_id}/samples/{group_id}/{index}"


def score(found: float | None) -> str:
    """Return a score; a masked sample has none."""
    return formats.ABSENT if found is None else formats.number(found)
