"""/runs/{id}/metrics: every metric of a run, grouped by the slot of a step that it describes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client import metric_catalog
from hone.client.catalog import SlotFilling, slot_fillings
from hone.client.metric_types import MetricGroup
from hone.client.resources import Run
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import charts, formats, parts
from services.console.widgets.charts import Chart, RunCurves
from services.console.widgets.markup import Markup, html, join, link, tag

_REFRESH_S = 5.0
_LONGEST = 40  # characters of a parameter's value


async def show(view: PageView, request: Request) -> None:
    """Show a chart for each metric and keep them current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    page = _MetricsPage(view, run)
    await page.load()
    view.live(page.load, _REFRESH_S)


class _MetricsPage:
    """The charts of one run by metric, and the search field."""

    def __init__(self, view: PageView, run: Run) -> None:
        self._header, self._curves = RunHeader(view, run, "Metrics"), RunCurves(view, run)
        self._filled = slot_fillings(run.spec)
        self._legend = html(Markup(""))
        self._search = ui.input("Find a metric", on_change=self._draw).props(
            "outlined dense clearable debounce=150").classes("search")
        view.shortcuts.add("/", "Find a metric", lambda: self._search.run_method("focus"))
        self._contents = html(Markup(""))
        self._groups = ui.element("div").classes("groups")
        self._charts: dict[str, Chart] = {}

    async def load(self) -> None:
        """Read new values and draw them. Raises HoneError."""
        await self._curves.load(await self._header.refresh())
        self._legend.set_content(self._curves.legend())
        self._draw()

    def _draw(self) -> None:
        names = [name for name in self._curves.names() if charts.matches(name, self._search.value or "")]
        if set(names) != set(self._charts) or not names:
            self._build(names)
        for name, chart in self._charts.items():
            chart.show(self._curves.lines(name))

    def _build(self, names: list[str]) -> None:
        self._groups.clear()
        groups, self._charts = metric_catalog.grouped(names), {}
        self._contents.set_content(contents(group for group, _ in groups) if len(groups) > 1 else Markup(""))
        with self._groups:
            for group, members in groups:
                html(heading(group, self._filled))
                with ui.element("div").classes("charts"):
                    self._charts |= {name: Chart(name, self._curves.lines(name)) for name in members}
            if not names:
                html(parts.empty("No metrics", "They begin with the first planned step. The search may hide them."))


def heading(group: MetricGroup, filled: Mapping[str, Sequence[SlotFilling]]) -> Markup:
    """Return a group's heading with the methods in its slots; `filled` holds the methods of the run by slot."""
    methods = [filling for slot in group.slots for filling in filled.get(slot, ())]
    names = [tag("span", "— ", join([_name(one) for one in methods], ", "), class_="filled")] if methods else []
    origins = [_origin(filling) for filling in methods]
    return tag("div", tag("h2", join([group.title, *names], " "), id=_anchor(group)), *origins, class_="slot")


def contents(groups: Iterable[MetricGroup]) -> Markup:
    """Return links to the groups of a page."""
    links = [link(group.title, f"#{_anchor(group)}") for group in groups]
    return tag("nav", *links, class_="jumps", aria_label="Groups of metrics")


def _name(filling: SlotFilling) -> Markup:
    mark = [parts.chip("reconstruction", "wait")] if filling.reconstruction else []
    return join([tag("code", filling.name), *mark], " ")


def _origin(filling: SlotFilling) -> Markup:
    source = tag("p", filling.source, class_="note") if filling.source else ""
    return join([source, _parameters(filling.params)])


def _parameters(params: Mapping[str, Any]) -> Markup:
    """Return the parameters in the syntax of a spec, long ones cut off and empty ones left out."""
    shown = [tag("span", f"{name} {formats.short(json.dumps(value, ensure_ascii=False), _LONGEST)}")
             for name, value in params.items() if value not in ({}, [])]
    return tag("p", *shown, class_="parameters mono faint") if shown else Markup("")


def _anchor(group: MetricGroup) -> str:
    """Return the id of a group's heading on the page."""
    return f"metrics-{group.title.lower().replace(' ', '-')}"
