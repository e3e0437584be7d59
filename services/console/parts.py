"""The pieces that pages are made of: states, figures, tables, and what stands where there is nothing to show."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from hone.client.errors import Away, HoneError
from services.console import formats
from services.console.markup import Markup, code, join, link, tag

_TONES = {
    "ok": "good", "succeeded": "good", "done": "good", "live": "good", "committed": "good", "used": "good",
    "running": "busy", "queued": "wait", "paused": "wait", "requested": "wait", "ready": "busy",
    "no_answer": "warn", "timeout_candidate": "warn", "dropped": "warn", "abandoned": "warn",
    "failed": "bad", "cancelled": "off", "infra_error": "bad", "judge_error": "bad", "timeout_grader": "bad",
    "invalid_spec": "bad",
}
RIGHT = "number"
"""Class of a column whose cells are figures."""


class Column(NamedTuple):
    """A column's title and the class of its cells."""

    title: str
    kind: str = ""


def chip(state: str, tone: str | None = None) -> Markup:
    """Return a state as a coloured word; the colour repeats what the word says."""
    return tag("span", state.replace("_", " "), class_=f"chip {tone or _TONES.get(state, 'off')}")


def moment(when: datetime | None) -> Markup:
    """Return how long ago something was; the exact time is its title."""
    if when is None:
        return Markup(formats.ABSENT)
    return tag("time", formats.ago(when), datetime=when.isoformat(), title=formats.clock(when))


def mono(text: object, title: str | None = None) -> Markup:
    """Return an id or a digest."""
    return tag("span", text, class_="mono", title=title)


def row(columns: Sequence[Column], cells: Sequence[object]) -> Markup:
    """Return a table's row; on a narrow screen each cell tells its column by itself."""
    return tag("tr", *(
        tag("td", cell, class_=column.kind or None, data_label=column.title)
        for column, cell in zip(columns, cells, strict=True)))


def titles(columns: Sequence[Column]) -> Markup:
    """Return the row of a table's head."""
    return tag("tr", *(tag("th", one.title, class_=one.kind or None, scope="col") for one in columns))


def table(columns: Sequence[Column], rows: Iterable[Sequence[object]], caption: str = "") -> Markup:
    """Return a table that becomes a list of cards on a narrow screen."""
    said = tag("caption", caption) if caption else ""
    body = tag("tbody", *(row(columns, cells) for cells in rows))
    return tag("div", tag("table", said, tag("thead", titles(columns)), body), class_="scroll")


def facts(named: Mapping[str, object]) -> Markup:
    """Return names and what they are."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", found)) for name, found in named.items()), class_="facts")


def figure(label: str, value: object, note: object = "", tone: str = "") -> Markup:
    """Return one number with what it is and what to think of it."""
    return tag("div", tag("div", label, class_="label"), tag("div", value, class_="value"),
               tag("div", note, class_="note"), class_=f"figure {tone}".strip())


def figures(*found: Markup) -> Markup:
    """Return figures side by side."""
    return tag("div", *found, class_="figures")


def heading(title: object, note: object = "", trail: Iterable[tuple[str, str]] = ()) -> Markup:
    """Return a page's heading; `trail` leads to where it belongs."""
    above = tag("nav", join([link(name, to) for name, to in trail], " / "), class_="trail",
                aria_label="Breadcrumb") if trail else ""
    return tag("div", above, tag("h1", title), tag("p", note, class_="lead") if note else "", class_="heading")


def section(title: str, *content: object, note: object = "") -> Markup:
    """Return a part of a page."""
    said = tag("p", note, class_="note") if note else ""
    return tag("section", tag("h2", title), said, *content, class_="panel")


def empty(what: str, how: str, command: str = "") -> Markup:
    """Return what stands where there is nothing yet: what, and how there would be something."""
    shown = code(command) if command else ""
    return tag("div", tag("p", what, class_="strong"), tag("p", how), shown, class_="empty")


def unexpected(error: Exception) -> HoneError:
    """Return what is said of an error that nobody expected; the log has its traceback."""
    return HoneError({"title": "Something went wrong in the console", "detail":
                      f"This is not your doing: {type(error).__name__}. The console's log names it."})


def problem(error: HoneError) -> Markup:
    """Return a refusal or an absence: what was found, what was expected, and what to do."""
    title = "The gateway does not answer" if isinstance(error, Away) else error.title or "That did not work"
    fields = table(
        [Column("Field"), Column("Found"), Column("Expected")],
        [[mono(one.field), one.found, one.expected] for one in error.problems]) if error.problems else ""
    request = tag("p", "Request ", mono(error.request_id), class_="note") if error.request_id else ""
    return tag("div", tag("h2", title), tag("p", error.detail or str(error)), fields, request,
               link("Try again", "", class_="again"), class_="problem", role="alert")


def pager(path: str, name: str, here: str | None, after: str | None) -> Markup:
    """Return links to what follows a cut list, and back to its beginning; nothing where it is whole.

    `name` is the parameter of the address that says after what a page begins: `here` this one, `after` the next.
    """
    back = link("← newest", path) if here else ""
    on = link("older →", f"{path}?{urlencode({name: after})}") if after else ""
    return tag("nav", back, on, class_="pager", aria_label="Pages of this list") if back or on else Markup("")


def progress(done: int, of: int, label: str = "") -> Markup:
    """Return a bar."""
    share = min(100.0, 100 * done / of) if of else 0.0
    bar = tag("div", tag("i", style=f"width:{share:.1f}%"), class_="bar", role="progressbar",
              aria_valuenow=done, aria_valuemin=0, aria_valuemax=of, aria_label=label or "progress")
    return tag("div", bar, tag("span", f"{done} / {of}"), class_="progress")


def schema(found: Mapping[str, Any]) -> Markup:
    """Return a JSON Schema's fields as a table: name, type, default, meaning."""
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
