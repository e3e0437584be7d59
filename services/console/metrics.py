"""/runs/{id}/metrics: every metric of a run, by the slot of a step that it tells of."""

from nicegui import ui
from starlette.requests import Request

from hone.client import metric_catalog
from hone.client.fillings import fillings
from hone.client.resources import Run
from services.console import parts, series, slots
from services.console.charts import Chart, Curves
from services.console.markup import Markup
from services.console.run_header import RunHeader
from services.console.view import View, html

_REFRESH_S = 5.0


async def show(view: View, request: Request) -> None:
    """Show a chart for each metric and keep them current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    page = _Metrics(view, run)
    await page.load()
    view.live(page.load, _REFRESH_S)


class _Metrics:
    """The charts of one run, by metric."""

    def __init__(self, view: View, run: Run) -> None:
        self._header, self._curves = RunHeader(view, run, "Metrics"), Curves(view, run)
        self._filled = fillings(run.spec)
        self._legend = html(Markup(""))
        self._search = ui.input("Find a metric", on_change=self._draw).props(
            "outlined dense clearable debounce=150").classes("search")
        view.shortcuts.add("/", "Find a metric", lambda: self._search.run_method("focus"))
        self._contents = html(Markup(""))
        self._place = ui.element("div").classes("groups")
        self._charts: dict[str, Chart] = {}

    async def load(self) -> None:
        """Read new values and draw them. Raises HoneError."""
        await self._curves.load(await self._header.refresh())
        self._legend.set_content(self._curves.legend())
        self._draw()

    def _draw(self) -> None:
        names = [name for name in self._curves.names() if series.wanted(name, self._search.value or "")]
        if set(names) != set(self._charts) or not names:
            self._build(names)
        for name, chart in self._charts.items():
            chart.show(self._curves.lines(name))

    def _build(self, names: list[str]) -> None:
        self._place.clear()
        groups, self._charts = metric_catalog.grouped(names), {}
        self._contents.set_content(slots.contents(group for group, _ in groups) if len(groups) > 1 else Markup(""))
        with self._place:
            for group, members in groups:
                html(slots.heading(group, self._filled))
                with ui.element("div").classes("charts"):
                    self._charts |= {name: Chart(name, self._curves.lines(name)) for name in members}
            if not names:
                html(parts.empty("No metrics", "They begin with the first planned step; a search may hide them."))
