"""/runs/{id}/regrades: stored samples of a run graded again by another grader, old and new score side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.errors import Refused
from hone.client.grade_resources import Regrade
from services.console.pages.grader_trial import grader_of
from services.console.pages.run_header import RunHeader
from services.console.pages.samples import path
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.json_field import JsonField
from services.console.widgets.markup import Markup, html, join, link, tag
from services.console.widgets.tables import RIGHT, Column

_AT_ONCE = 5
"""Groups of one request: a judge needs its time for each, and the page shows what is there."""
_SHOWN = 500
_ANY = "any"
_PURPOSES = (_ANY, "train", "eval", "probe", "pilot")
_COLUMNS = (Column("Sample"), Column("First"), Column("Score", RIGHT), Column("Again"), Column("New score", RIGHT),
            Column("Difference", RIGHT), Column("Reasons", "wide"))


async def show(view: PageView, request: Request) -> None:
    """Show the form. Nothing is graded before the button is pressed."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    RunHeader(view, run, "Samples")
    _RegradePage(view, run.id, grader_of(run.spec, "", run.step))


@dataclass(frozen=True)
class Comparison:
    """Two scores of each sample that has both: how many, their means, the mean difference, how many changed."""

    samples: int
    first: float
    later: float
    difference: float
    changed: int


def compared(found: Sequence[Regrade]) -> Comparison | None:
    """Compare the scores of samples that have both; None where no sample has."""
    both = [(one.first_score, one.score) for one in found if one.first_score is not None and one.score is not None]
    if not both:
        return None
    first, later = (fmean(scores) for scores in zip(*both, strict=True))
    return Comparison(len(both), first, later, fmean(after - before for before, after in both),
                      sum(before != after for before, after in both))


def differs(one: Regrade) -> bool:
    """Return whether a sample's score is another one now, or there is one in only one of both gradings."""
    return one.first_score != one.score


def largest_first(found: Sequence[Regrade]) -> list[Regrade]:
    """Return samples by the size of their difference; those with a score in only one grading come first."""
    return sorted(found, key=lambda one: -_size(one))


def _size(one: Regrade) -> float:
    if one.first_score is None or one.score is None:
        return float("inf") if differs(one) else 0.0
    return abs(one.score - one.first_score)


class _RegradePage:
    """The grader and its samples, and below them what was found."""

    def __init__(self, view: PageView, run_id: str, grader: Any) -> None:
        self._view, self._run_id = view, run_id
        self._found, self._busy = list[Regrade](), ""
        with ui.element("section").classes("panel"):
            html(tag("h2", "Grade again"))
            html(tag("p", "The new grades are stored in addition to the first grades, and the run's weights stay as "
                     "they are. A "
                     "grader that reads worlds cannot grade again.", class_="note"))
            self._grader = JsonField("Grader, as JSON", grader)
            with ui.element("div").classes("filters"):
                self._purpose = ui.select(list(_PURPOSES), value=_ANY, label="Purpose").props("outlined dense")
                self._groups = ui.number("Most groups", value=20, min=1, step=1).props(
                    "outlined dense").classes("short")
                self._button = view.permit(ui.button("Grade again", on_click=self._pressed, color=None).props(
                    "unelevated no-caps").classes("primary"), "run")
        self._figures = html(Markup(""))
        with ui.element("div").classes("filters") as self._filters:
            self._changed = ui.checkbox("Changed alone", on_change=self._draw)
            self._sorted = ui.checkbox("Largest difference first", on_change=self._draw)
        self._listed = html(Markup(""))
        self._draw()

    async def _pressed(self) -> None:
        self._button.disable()
        try:
            await self._view.tried(self._grade)
        finally:
            self._busy = ""
            self._button.enable()
            self._draw()

    async def _grade(self) -> None:
        grader, left, after = self._grader.read(), max(1, int(self._groups.value or 1)), 0
        purpose = None if self._purpose.value == _ANY else str(self._purpose.value)
        if grader is None:
            return
        self._found, self._busy = [], "grading"
        self._draw()
        while left > 0 and not self._button.is_deleted:
            try:
                page = await self._view.ask(self._view.hone.grade_again, self._run_id, grader, purpose,
                                            min(left, _AT_ONCE), after)
            except Refused as error:
                self._grader.refuse(error.problems)
                return
            self._found += page.data
            if page.next is None:
                return
            left, after = left - _AT_ONCE, page.next
            self._draw()

    def _draw(self) -> None:
        found = [one for one in self._found if differs(one) or not self._changed.value]
        rows = largest_first(found) if self._sorted.value else found
        self._filters.set_visibility(bool(self._found))
        self._figures.set_content(join([parts.chip(self._busy, "busy") if self._busy else "", _figures(self._found)]))
        self._listed.set_content(_table(self._run_id, rows) if self._found else Markup(""))


def _figures(found: Sequence[Regrade]) -> Markup:
    if not found:
        return Markup("")
    both, masked = compared(found), sum(one.score is None for one in found)
    note = f"{masked} without a new score" if masked else "all with a new score"
    if both is None:
        return parts.figures(parts.figure("Samples", formats.count(len(found)), f"none has both scores; {note}"))
    return parts.figures(
        parts.figure("Samples", formats.count(len(found)), note),
        parts.figure("Mean", f"{formats.number(both.first)} → {formats.number(both.later)}",
                     f"over {both.samples} with both scores"),
        parts.figure("Mean difference", f"{both.difference:+.3g}", "new less first"),
        parts.figure("Changed", formats.count(both.changed), f"of {both.samples}"))


def _table(run_id: str, rows: Sequence[Regrade]) -> Markup:
    if not rows:
        return parts.empty("No sample changed", "Every score is unchanged.")
    cut = tag("p", f"The first {_SHOWN} of {len(rows)}.", class_="note") if len(rows) > _SHOWN else ""
    return join([tables.table(_COLUMNS, [_cells(run_id, one) for one in rows[:_SHOWN]]), cut])


def _cells(run_id: str, one: Regrade) -> list[object]:
    change = None if one.first_score is None or one.score is None else one.score - one.first_score
    shown = formats.ABSENT if change is None else f"{change:+.3g}" if change else "0"
    return [link(f"{one.group_id} / {one.index}", path(run_id, one.group_id, one.index), class_="strong"),
            parts.chip(one.first_status), formats.number(one.first_score), parts.chip(one.status),
            formats.number(one.score), shown, "; ".join(one.reasons)]
