"""Tables: plain ones, tables that change in place, and tables of parameters and files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from nicegui import ui

from hone.client.resources import StoredFile
from services.console.widgets import formats
from services.console.widgets.markup import Markup, escape, html, mono, quoted, tag

RIGHT = "number"
"""CSS class of a column of numbers."""

_NOTHING = Markup("")


class Column(NamedTuple):
    """The title of a column and the CSS class of its cells."""

    title: str
    kind: str = ""


def row(columns: Sequence[Column], cells: Sequence[object]) -> Markup:
    """Return a row of a table. Each cell carries its column's title, which narrow screens show beside it."""
    return tag("tr", *(
        tag("td", cell, class_=column.kind or None, data_label=column.title)
        for column, cell in zip(columns, cells, strict=True)))


def titles(columns: Sequence[Column]) -> Markup:
    """Return the row of column titles."""
    return tag("tr", *(tag("th", one.title, class_=one.kind or None, scope="col") for one in columns))


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]], caption: str = "") -> Markup:
    """Return a table that becomes a list of cards on a narrow screen."""
    above = tag("caption", caption) if caption else ""
    body = tag("tbody", *(row(columns, cells) for cells in rows))
    return tag("div", tag("table", above, tag("thead", titles(columns)), body), class_="scroll")


def schema(found: Mapping[str, Any]) -> Markup:
    """Return the fields of a JSON Schema as a table: name, type, default, meaning."""
    required = set(found.get("required", ()))
    rows = [[mono(name), _type(one), _default(name, one, required), one.get("description", "")]
            for name, one in found.get("properties", {}).items()]
    return table([Column("Parameter"), Column("Type"), Column("Default"), Column("Meaning")], rows)


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field or "const" in field:
        return " | ".join(map(str, field.get("enum", [field.get("const")])))
    if "anyOf" in field:
        return " or ".join(_type(one) for one in field["anyOf"])
    return str(field.get("type") or field.get("$ref", "").rpartition("/")[2] or "any")


def _default(name: str, field: Mapping[str, Any], required: set[str]) -> object:
    return tag("em", "required") if name in required else mono(field.get("default", formats.ABSENT))


def files(stored: Mapping[str, StoredFile]) -> Markup:
    """Return a table of stored files: name, size, digest."""
    columns = [Column("File"), Column("Size", RIGHT), Column("SHA-256")]
    return table(columns, [
        [mono(name), formats.size(one.bytes), mono(formats.short(one.sha256, 24), one.sha256)]
        for name, one in stored.items()])


class LiveTable:
    """A table whose cells change one by one, so that a refresh does not move the keyboard focus.

    `add_actions` puts the buttons of a row, which its key names, on the page: into the last cell. Without rows the
    table is hidden.
    """

    def __init__(self, columns: Sequence[Column], add_actions: Callable[[str], None] | None = None) -> None:
        self._columns, self._add_actions = columns, add_actions
        self._cells: dict[str, list[ui.html]] = {}
        with ui.element("div").classes("scroll") as self._whole, ui.element("table"):
            html(titles([*columns, Column("")] if add_actions else columns), "thead")
            self._body = ui.element("tbody")

    def show(self, rows: Mapping[str, Sequence[object]]) -> None:
        """Show these rows by key, in this order. Only cells that differ change."""
        self._whole.set_visibility(bool(rows))
        if list(rows) != list(self._cells):
            self._body.clear()
            self._cells = {}
            with self._body:
                self._cells = {key: self._row(key, cells) for key, cells in rows.items()}
            return
        for key, cells in rows.items():
            for shown, cell in zip(self._cells[key], cells, strict=True):
                shown.set_content(escape(cell))

    def _row(self, key: str, cells: Sequence[object]) -> list[ui.html]:
        with ui.element("tr"):
            shown = [html(escape(cell), "td").classes(column.kind).props(f'data-label="{column.title}"')
                     for column, cell in zip(self._columns, cells, strict=True)]
            if self._add_actions:
                with ui.element("td").classes("row-actions"):
                    self._add_actions(key)
        return shown


class LiveSection:
    """A part of a page with a live table, what is said where it has no rows, and what is below it."""

    def __init__(
        self, title: str, columns: Sequence[Column], empty: Markup, add_actions: Callable[[str], None] | None = None,
        note: str = "",
    ) -> None:
        with ui.element("section").classes("panel"):
            html(tag("h2", title))
            if note:
                html(tag("p", note, class_="note"))
            self._table = LiveTable(columns, add_actions)
            self._empty, self._below = html(empty), html(Markup(""))

    def show(self, rows: Mapping[str, Sequence[object]], below: Markup = _NOTHING) -> None:
        """Show these rows by key, and this below them."""
        self._table.show(rows)
        self._empty.set_visibility(not rows)
        self._below.set_content(below)


def action(text: str, of: str, act: Callable[[], object], tone: str = "plain") -> ui.button:
    """Put a small button of a row on the page. `of` names the row for who does not see it."""
    return ui.button(text, on_click=act, color=None).props(
        f'outline no-caps dense aria-label="{text} {quoted(of)}"').classes(f"{tone} small")
