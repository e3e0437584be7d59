"""/runs/compare: runs side by side: the fields in which their specs differ, their results, their curves."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import Run
from services.console.view import PageView
from services.console.widgets import charts, formats, parts, tables
from services.console.widgets.charts import Chart, RunCurves
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import Column

_OFFERED, _REFRESH_S, _LONGEST = 200, 5.0, 80
_MOST = len(charts.PALETTE)


async def show(view: PageView, request: Request) -> None:
    """Show the runs that the query parameters `run` name, and a select for others."""
    chosen = list(dict.fromkeys(request.query_params.getlist("run")))[:_MOST]
    runs = [await view.ask(view.hone.run, one) for one in chosen]
    html(parts.heading("Compare runs", "The fields in which their specs differ, their results, and their curves.",
                       [("Runs", "/runs")]))
    offered = (await view.ask(view.hone.runs, _OFFERED)).data
    words = {one.id: f"{one.name} ({one.id})" for one in [*runs, *offered]}
    ui.select(words, value=chosen, label=f"Runs, at most {_MOST}", multiple=True, with_input=True,
              on_change=lambda event: ui.navigate.to(path(event.value))).props("outlined dense use-chips")
    if len(runs) < 2:
        html(parts.empty("Choose two runs or more", "Runs that differ in their seed alone share their charts anyway."))
    if runs:
        page = _ComparePage(view, runs)
        await page.load()
        view.live(page.load, _REFRESH_S)


def path(run_ids: Sequence[str]) -> str:
    """Return the path of the page that compares these runs."""
    return f"/runs/compare?{urlencode([('run', one) for one in run_ids[:_MOST]])}"


class _ComparePage:
    """The tables and the charts of the chosen runs; the first has the thicker line."""

    def __init__(self, view: PageView, runs: Sequence[Run]) -> None:
        self._view, self._runs, self._curves = view, list(runs), RunCurves(view, runs[0])
        self._legend, self._results = html(Markup("")), html(Markup(""))
        html(_differences(runs))
        self._grid = ui.element("div").classes("charts")
        self._charts: dict[str, Chart] = {}

    async def load(self) -> None:
        """Read the runs and their metrics again and show the changes. Raises HoneError."""
        self._runs = [await self._view.ask(self._view.hone.run, one.id) for one in self._runs]
        names = charts.first_look({name for run in self._runs for name in run.metrics})
        await self._curves.load_beside(self._runs[0], self._runs[1:], names)
        self._legend.set_content(self._curves.legend())
        self._results.set_content(_results(self._runs))
        for name in charts.first_look(self._curves.names()):
            if name in self._charts:
                self._charts[name].show(self._curves.lines(name))
                continue
            with self._grid:
                self._charts[name] = Chart(name, self._curves.lines(name))


def _columns(runs: Sequence[Run], first: str) -> list[Column]:
    labels = charts.labels_of(runs)
    return [Column(first), *(Column(labels[run.id], "name") for run in runs)]


def _results(runs: Sequence[Run]) -> Markup:
    """Return the newest value of each metric of the first look, and the state of each run."""
    rows: list[list[object]] = [
        ["Run", *(join([link(run.name, f"/runs/{run.id}"), tag("div", mono(run.id), class_="faint")]) for run in runs)],
        ["State", *(parts.run_state(run) for run in runs)], ["Steps", *(f"{run.step} / {run.steps}" for run in runs)]]
    for name in charts.first_look({name for run in runs for name in run.metrics}):
        values = (dict(charts.displayed(name, [(0, run.metrics[name])])).get(0) if name in run.metrics else None
                  for run in runs)
        rows.append([charts.labelled(name), *map(formats.number, values)])
    return parts.section("Results", tables.table(_columns(runs, "Newest"), rows))


def _differences(runs: Sequence[Run]) -> Markup:
    rows = [[mono(field), *(mono(formats.short(one, _LONGEST), one) for one in values)]
            for field, values in differences([run.spec for run in runs])]
    if not rows:
        return parts.section("Specs", parts.empty("The specs are equal", "But for their names."))
    return parts.section("Specs", tables.table(_columns(runs, "Field"), rows),
                         note="The fields that differ; all other fields are equal.")


def differences(specs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the path of each field whose value is not the same in all specs, with its value in each; no names."""
    flat = [dict(fields(spec)) for spec in specs]
    for name in sorted({name for one in flat for name in one}):
        values = [one.get(name, formats.ABSENT) for one in flat]
        if name != "name" and len(set(values)) > 1:
            yield name, values


def fields(value: Mapping[str, Any], owner: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the value of each field, values as JSON."""
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from fields(inner, f"{owner}{name}.")
        else:
            yield f"{owner}{name}", json.dumps(inner, ensure_ascii=False)
