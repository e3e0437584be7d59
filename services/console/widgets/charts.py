"""Charts: one for each metric with a line for each seed, drawn again when their values change."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui

from hone.client import metric_catalog
from hone.client.resources import RunSummary
from services.console.view import PageView
from services.console.widgets import formats
from services.console.widgets.markup import Markup, html, join, tag

FIRST_LOOK = ("reward/mean", "verify/verdict_accuracy", "eval/", "judge/gap", "judge/disagreement", "gap/mean",
              "gap/probe_mean", "staleness/mean", "rollouts/signal_share", "value/predicted", "value/actual", "entropy",
              "completion/mean_tokens")
"""Metrics of a run's overview, as far as the run has them; a name that ends in `/` is a prefix."""

PALETTE = ("#4f7cff", "#f59e0b", "#10b3a3", "#e0559a", "#9b6bff", "#7aa116", "#e2603f", "#3aa0d8")
"""Colours of lines: the page's own run has the first, its siblings the others."""

_GREY, _GRID = "#8b93a1", "rgba(139,147,161,0.18)"
_TICK = """(value) => {
  const size = Math.abs(value), short = (amount) => String(Number(amount.toPrecision(6)));
  if (size >= 1e6) return `${short(value / 1e6)} M`;
  if (size >= 1e4) return `${short(value / 1e3)} k`;
  return size >= 1e-3 || !size ? short(value) : Number(value.toPrecision(3)).toExponential();
}"""
"""The label of a place on an axis: 0, 0.05, 120, 12.5 k, 1.2e-7."""
_FEW = 40  # points up to which each has a symbol

MOST_SIBLINGS = len(PALETTE) - 1

Points = Sequence[tuple[int, float]]
"""Pairs of step and value, steps rising."""

Values = Mapping[str, Points]
"""The metrics of one run by name."""


@dataclass(frozen=True)
class Line:
    """One metric of one run; `main` marks the page's own run."""

    name: str
    points: Points
    main: bool = True


class RunCurves:
    """The metrics of a run and of others beside it."""

    def __init__(self, view: PageView, run: RunSummary) -> None:
        self._view, self._run = view, run
        self._siblings: list[RunSummary] = []
        self._values: dict[str, Values] = {}
        self._read_at: dict[str, tuple[int, str]] = {}

    async def load(self, run: RunSummary, names: Iterable[str] = ()) -> None:
        """Read the metrics of a run and of its siblings, the runs with the same spec but another seed.

        Those that went on since the last call are read. Raises HoneError.
        """
        page = await self._view.ask(self._view.hone.runs, MOST_SIBLINGS + 1, None, None, run.id)
        others = [one for one in page.data if one.id != run.id][:MOST_SIBLINGS]
        await self.load_beside(run, sorted(others, key=lambda one: (one.seed or 0, one.id)), names)

    async def load_beside(self, run: RunSummary, others: Sequence[RunSummary], names: Iterable[str] = ()) -> None:
        """Read the metrics of these runs, as far as they went on since the last call. Raises HoneError."""
        self._run, self._siblings = run, list(others)
        wanted = list(names)
        for one in (run, *others):
            at = (one.step, one.state)  # the last evaluation is stored with the state that ends a run
            if self._read_at.get(one.id) != at or one.state == "running":
                found = await self._view.ask(self._view.hone.metrics, one.id, wanted)
                self._values[one.id], self._read_at[one.id] = found.series, at

    def names(self) -> list[str]:
        """Return the names of the runs' metrics."""
        return sorted({name for one in (self._run, *self._siblings) for name in self._values.get(one.id, {})})

    def lines(self, name: str) -> list[Line]:
        """Return one metric's line for each run, the page's own run first."""
        labels = labels_of((self._run, *self._siblings))
        return [Line(labels[run.id], displayed(name, self._values[run.id].get(name, [])), main=run.id == self._run.id)
                for run in (self._run, *self._siblings) if run.id in self._values]

    def legend(self) -> Markup:
        """Return the colour of each seed, with links to the siblings; nothing without siblings."""
        labels = labels_of((self._run, *self._siblings))
        shown = [_key(run, labels[run.id], colour) for run, colour in
                 zip((self._run, *self._siblings), PALETTE, strict=False)]
        return tag("div", *shown, class_="seeds") if self._siblings else Markup("")


class Chart:
    """The chart of one metric, with its newest value and its meaning."""

    def __init__(self, name: str, lines: Sequence[Line]) -> None:
        self._name, self._lines = name, lines
        with ui.element("figure").classes("chart"):
            with ui.element("figcaption"):
                html(_named(name))
                self._newest = html(_newest(name, lines))
            self._caption = html(tag("span", in_words(labelled(name), lines)), "div").classes("unseen")
            self._chart = ui.echart(echart_options(lines)).classes("curve").props('aria-hidden="true"')

    def show(self, lines: Sequence[Line]) -> None:
        """Draw the lines if they differ from the drawn ones."""
        if lines == self._lines:
            return
        self._lines = lines
        self._newest.set_content(_newest(self._name, lines))
        self._caption.set_content(in_words(labelled(self._name), lines))
        self._chart.options["series"] = echart_series(lines)
        self._chart.update()


def _named(name: str) -> Markup:
    title, _, meaning = metric_catalog.find(name).metric
    tip = tag("span", meaning, class_="tip", aria_hidden="true")
    about = tag("button", "i", tip, type="button", class_="about", aria_label=f"{title}: {meaning}") if meaning else ""
    return join([tag("span", title, class_="strong"), about], " ")


def _newest(name: str, lines: Sequence[Line]) -> Markup:
    """Return the name of the metric, and the newest value of the page's own run."""
    values = lines[0].points if lines else ()
    value = tag("span", tag("strong", formats.number(values[-1][1])), f" {unit(name)}",
                class_="newest") if values else ""
    return tag("div", tag("span", name, class_="mono faint", title=name), value, class_="reading")


def labels_of(runs: Sequence[RunSummary]) -> dict[str, str]:
    """Return by id what tells each run from the others: its seed, its name, both, or its id."""
    named = len({run.name for run in runs}) > 1
    forms = [{run.id: run.name if named or run.seed is None else f"seed {run.seed}" for run in runs},
             {run.id: f"{run.name}, seed {run.seed}" for run in runs}, {run.id: run.id for run in runs}]
    return next(form for form in forms if len(set(form.values())) == len(runs))


def _key(run: RunSummary, label: str, colour: str) -> Markup:
    dot = tag("i", style=f"background:{colour}")
    return tag("a", dot, tag("span", label), href=f"/runs/{run.id}", title=f"{run.name}, {run.state}, step {run.step}")


def echart_options(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the options of one chart as ECharts takes them."""
    return {
        "animation": False, "color": list(PALETTE), "backgroundColor": "transparent",
        "grid": {"left": 4, "right": 14, "top": 14, "bottom": 4, "containLabel": True},
        "tooltip": {"trigger": "axis", "confine": True, "backgroundColor": "rgba(20,24,33,0.94)", "borderWidth": 0,
                    "textStyle": {"color": "#f4f6fa", "fontSize": 12}, "axisPointer": {"lineStyle": {"color": _GREY}}},
        "xAxis": _axis(minInterval=1, min="dataMin", max="dataMax", splitLine={"show": False}),
        "yAxis": _axis(scale=True, splitLine={"lineStyle": {"color": _GRID}}),
        "series": echart_series(lines),
    }


def echart_series(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the lines of a chart as ECharts takes them; the nth line has the nth colour."""
    return [{
        "name": line.name, "type": "line", "data": [[step, rounded(value)] for step, value in line.points],
        "showSymbol": len(line.points) <= _FEW, "symbolSize": 5, "sampling": "lttb", "z": 3 if line.main else 2,
        "lineStyle": {"width": 2.4 if line.main else 1.4, "opacity": 1 if line.main else 0.75},
    } for line in lines]


def rounded(value: float) -> float | None:
    """Return a value with five digits; None, which is a gap in the curve, if it is not a finite number."""
    return None if not math.isfinite(value) else float(f"{value:.5g}")


def in_words(title: str, lines: Sequence[Line]) -> str:
    """Return a chart in words for screen readers: the newest value of each line."""
    ends = [f"{line.name} {_newest_value(line.points[-1][1])} at step {line.points[-1][0]}"
            for line in lines if line.points]
    return f"{title}: {'; '.join(ends) or 'no values yet'}"


def _newest_value(value: float) -> str:
    return "not a finite number" if not math.isfinite(value) else str(rounded(value))


def _axis(**options: Any) -> dict[str, Any]:
    label = {"color": _GREY, "fontSize": 11, "hideOverlap": True, ":formatter": _TICK}
    return {"type": "value", "axisLabel": label, "axisLine": {"lineStyle": {"color": _GRID}},
            "axisTick": {"show": False}, **options}


def matches(name: str, search: str) -> bool:
    """Return whether a search text is in a metric's name, its title or the title of its group."""
    found = metric_catalog.find(name)
    return any(search.lower() in text.lower() for text in (name, found.metric.title, found.group.title))


def unit(name: str) -> str:
    """Return the unit in which a metric is displayed: percent for a share."""
    recorded = metric_catalog.find(name).metric.unit
    return "%" if recorded == "share" else recorded


def displayed(name: str, points: Points) -> Points:
    """Return the points in the unit in which the metric is displayed."""
    return [(step, 100 * value) for step, value in points] if unit(name) == "%" else points


def labelled(name: str) -> str:
    """Return the title of a metric with its unit."""
    title = metric_catalog.find(name).metric.title
    return f"{title}, {unit(name)}" if unit(name) else title


def first_look(names: Iterable[str]) -> list[str]:
    """Return the metrics of a run's overview, in order."""
    known = sorted(name for name in names if name != "eval/masked")
    return [name for wanted in FIRST_LOOK for name in known
            if name == wanted or (wanted.endswith("/") and name.startswith(wanted))]
