"""/runs/{id}/metrics: every metric of a run, grouped."""

from nicegui import ui
from starlette.requests import Request

from services.console import parts, series
from services.console.charts import Chart, Curves
from services.console.markup import Markup, tag
from services.console.run_header import RunHeader
from services.console.view import View, html

_REFRESH_S = 5.0


async def show(view: View, request: Request) -> None:
    """Show a chart for each metric and keep them current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    page = _Metrics(view, RunHeader(view, run, "Metrics"), Curves(view, run))
    await page.load()
    view.live(page.load, _REFRESH_S)


class _Metrics:
    """The charts of one run, by metric."""

    def __init__(self, view: View, header: RunHeader, curves: Curves) -> None:
        self._header, self._curves = header, curves
        self._legend = html(Markup(""))
        self._search = ui.input("Find a metric", on_change=self._draw).props(
            "outlined dense clearable debounce=150").classes("search")
        view.shortcuts.add("/", "Find a metric", lambda: self._search.run_method("focus"))
        self._place = ui.element("div")
        self._charts: dict[str, Chart] = {}

    async def load(self) -> None:
        """Read new values and draw them. Raises HoneError."""
        await self._curves.load(await self._header.refresh())
        self._legend.set_content(self._curves.legend())
        self._draw()

    def _draw(self) -> None:
        wanted = (self._search.value or "").lower()
        names = [name for name in self._curves.names() if wanted in name or wanted in series.words(name).lower()]
        if set(names) != set(self._charts) or not names:
            self._build(names)
        for name, chart in self._charts.items():
            chart.show(self._curves.lines(name))

    def _build(self, names: list[str]) -> None:
        self._place.clear()
        self._charts = {}
        with self._place:
            for title, members in series.grouped(names).items():
                html(tag("h2", title, class_="group"))
                with ui.element("div").classes("charts"):
                    self._charts |= {name: Chart(name, self._curves.lines(name)) for name in members}
            if not names:
                html(parts.empty("No metrics", "They begin with the first planned step; a search may hide them."))
