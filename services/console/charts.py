"""Charts on a page: one for each metric, a line for each seed, drawn again where their values changed."""

from collections.abc import Iterable, Mapping, Sequence

from nicegui import ui

from hone.client import metric_catalog
from hone.client.resources import RunSummary
from services.console import curves, formats, series
from services.console.curves import Line
from services.console.markup import Markup, join, tag
from services.console.view import View, html

MOST_SIBLINGS = len(curves.PALETTE) - 1
Values = Mapping[str, series.Points]


class Curves:
    """The metrics of a run and of its siblings, which differ from it in seed alone."""

    def __init__(self, view: View, run: RunSummary) -> None:
        self._view, self._run = view, run
        self._siblings: list[RunSummary] = []
        self._values: dict[str, Values] = {}
        self._read_at: dict[str, tuple[int, str]] = {}

    async def load(self, run: RunSummary, names: Iterable[str] = ()) -> None:
        """Read what is new of the run and its siblings. Raises HoneError."""
        ask, hone, wanted = self._view.ask, self._view.hone, list(names)
        page = await ask(hone.runs, MOST_SIBLINGS + 1, None, None, run.id)
        self._run, others = run, [one for one in page.data if one.id != run.id][:MOST_SIBLINGS]
        self._siblings = sorted(others, key=lambda one: (one.seed or 0, one.id))
        for one in (run, *self._siblings):
            at = (one.step, one.state)  # the last evaluation comes with the state that ends the run
            if self._read_at.get(one.id) != at or one.state == "running":
                found = await ask(hone.metrics, one.id, wanted)
                self._values[one.id], self._read_at[one.id] = found.series, at

    def names(self) -> list[str]:
        """Return the metrics that the run has."""
        return sorted(self._values.get(self._run.id, {}))

    def lines(self, name: str) -> list[Line]:
        """Return one metric's line of each run, the run's own first."""
        return [Line(_label(run), series.shown(name, self._values[run.id].get(name, [])), main=run.id == self._run.id)
                for run in (self._run, *self._siblings) if run.id in self._values]

    def legend(self) -> Markup:
        """Return which colour is which seed, with links to the siblings."""
        shown = [_key(run, colour) for run, colour in
                 zip((self._run, *self._siblings), curves.PALETTE, strict=False)]
        return tag("div", *shown, class_="seeds") if self._siblings else Markup("")


class Chart:
    """One metric's chart, with its newest value and what it means."""

    def __init__(self, name: str, lines: Sequence[Line]) -> None:
        self._name, self._lines = name, lines
        with ui.element("figure").classes("chart"):
            with ui.element("figcaption"):
                html(_named(name))
                self._newest = html(_newest(name, lines))
            self._caption = html(tag("span", curves.spoken(series.words(name), lines)), "div").classes("unseen")
            self._chart = ui.echart(curves.options(lines)).classes("curve").props('aria-hidden="true"')

    def show(self, lines: Sequence[Line]) -> None:
        """Draw the lines if they differ from those drawn."""
        if lines == self._lines:
            return
        self._lines = lines
        self._newest.set_content(_newest(self._name, lines))
        self._caption.set_content(curves.spoken(series.words(self._name), lines))
        self._chart.options["series"] = curves.series(lines)
        self._chart.update()


def _named(name: str) -> Markup:
    title, _, meaning = metric_catalog.find(name).metric
    tip = tag("span", meaning, class_="tip", aria_hidden="true")
    about = tag("button", "i", tip, type="button", class_="about", aria_label=f"{title}: {meaning}") if meaning else ""
    return join([tag("span", title, class_="strong"), about], " ")


def _newest(name: str, lines: Sequence[Line]) -> Markup:
    """The metric's own name, and the newest value of the page's own run."""
    values = lines[0].points if lines else ()
    value = tag("span", tag("strong", formats.number(values[-1][1])), f" {series.unit(name)}",
                class_="newest") if values else ""
    return tag("div", tag("span", name, class_="mono faint", title=name), value, class_="reading")


def _label(run: RunSummary) -> str:
    return f"seed {run.seed}" if run.seed is not None else run.name


def _key(run: RunSummary, colour: str) -> Markup:
    dot = tag("i", style=f"background:{colour}")
    return tag("a", dot, _label(run), href=f"/runs/{run.id}", title=f"{run.name}, {run.state}, step {run.step}")
