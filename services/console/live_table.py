"""A table whose cells change one by one, so that a refresh takes the focus from nobody."""

from collections.abc import Mapping, Sequence

from nicegui import ui

from services.console.markup import escape
from services.console.parts import Column, titles
from services.console.view import html


class LiveTable:
    """Rows by key, each a list of cells; `show` changes what differs and nothing else. No rows, no table."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._cells: dict[str, list[ui.html]] = {}
        with ui.element("div").classes("scroll") as self._whole, ui.element("table"):
            html(titles(columns), "thead")
            self._body = ui.element("tbody")

    def show(self, rows: Mapping[str, Sequence[object]]) -> None:
        """Show these rows in this order."""
        self._whole.set_visibility(bool(rows))
        if list(rows) != list(self._cells):
            self._body.clear()
            self._cells = {}
            with self._body:
                self._cells = {key: self._row(cells) for key, cells in rows.items()}
            return
        for key, cells in rows.items():
            for shown, cell in zip(self._cells[key], cells, strict=True):
                shown.set_content(escape(cell))

    def _row(self, cells: Sequence[object]) -> list[ui.html]:
        with ui.element("tr"):
            return [html(escape(cell), "td").classes(column.kind).props(f'data-label="{column.title}"')
                    for column, cell in zip(self._columns, cells, strict=True)]
