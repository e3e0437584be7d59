"""Pieces of pages: states, times, figures, headings, sections, errors, and notes for an empty page."""

from collections.abc import Iterable
from datetime import datetime
from urllib.parse import urlencode

from hone.client.errors import Away, HoneError
from hone.client.resources import RunSummary
from services.console.widgets import formats
from services.console.widgets.markup import Markup, code, join, link, mono, tag
from services.console.widgets.tables import Column, table

_TONES = {
    "ok": "good", "succeeded": "good", "done": "good", "live": "good", "committed": "good", "used": "good",
    "running": "busy", "queued": "wait", "paused": "wait", "requested": "wait", "ready": "busy",
    "deleting": "wait", "deleted": "off",
    "no_answer": "warn", "timeout_candidate": "warn", "dropped": "warn", "abandoned": "warn",
    "failed": "bad", "cancelled": "off", "infra_error": "bad", "judge_error": "bad", "timeout_grader": "bad",
    "invalid_spec": "bad",
}


def chip(state: str, tone: str | None = None) -> Markup:
    """Return a state as a coloured word; the colour adds no information."""
    return tag("span", state.replace("_", " "), class_=f"chip {tone or _TONES.get(state, 'off')}")


def moment(when: datetime | None) -> Markup:
    """Return the age of a moment; the exact time is its title."""
    if when is None:
        return Markup(formats.ABSENT)
    return tag("time", formats.ago(when), datetime=when.isoformat(), title=formats.clock(when))


def due(when: datetime) -> Markup:
    """Return how long it is until a moment; the exact time is its title."""
    return tag("time", formats.until(when), datetime=when.isoformat(), title=formats.clock(when))


def figure(label: str, value: object, note: object = "", tone: str = "") -> Markup:
    """Return one number with its label above it and a note below it."""
    return tag("div", tag("div", label, class_="label"), tag("div", value, class_="value"),
               tag("div", note, class_="note"), class_=f"figure {tone}".strip())


def figures(*found: Markup) -> Markup:
    """Return figures side by side."""
    return tag("div", *found, class_="figures")


def heading(title: object, note: object = "", trail: Iterable[tuple[str, str]] = ()) -> Markup:
    """Return a page's heading; `trail` has the name and path of each page above it."""
    above = tag("nav", join([link(name, to) for name, to in trail], " / "), class_="trail",
                aria_label="Breadcrumb") if trail else ""
    return tag("div", above, tag("h1", title), tag("p", note, class_="lead") if note else "", class_="heading")


def section(title: str, *content: object, note: object = "") -> Markup:
    """Return a part of a page."""
    below = tag("p", note, class_="note") if note else ""
    return tag("section", tag("h2", title), below, *content, class_="panel")


def empty(title: str, advice: str, command: str = "") -> Markup:
    """Return the note of an empty list: its name, and how to fill it, with a command to copy."""
    shown = code(command) if command else ""
    return tag("div", tag("p", title, class_="strong"), tag("p", advice), shown, class_="empty")


def unexpected(error: Exception) -> HoneError:
    """Return the error that a person reads in place of an unexpected one; the log has its traceback."""
    return HoneError({"title": "Something went wrong in the console", "detail":
                      f"You did nothing wrong. The console's log describes this error: {type(error).__name__}."})


def problem(error: HoneError) -> Markup:
    """Return an error as a panel: its title, its detail, the fields with problems, and a link to try again."""
    title = "The gateway does not answer" if isinstance(error, Away) else error.title or "The request failed"
    fields = table(
        [Column("Field"), Column("Found"), Column("Expected")],
        [[mono(one.field), one.found, one.expected] for one in error.problems]) if error.problems else ""
    request = tag("p", "Request ", mono(error.request_id), class_="note") if error.request_id else ""
    return tag("div", tag("h2", title), tag("p", error.detail or str(error)), fields, request,
               link("Try again", "", class_="again"), class_="problem", role="alert")


def facts(found: Iterable[tuple[str, object]]) -> Markup:
    """Return names with their values, a line for each."""
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in found), class_="facts")


def pager(path: str, name: str, here: str | None, after: str | None) -> Markup:
    """Return links to the next page of a list and back to the first; nothing if the list has one page.

    `name` is the parameter of the address that holds a page's cursor, `here` the cursor of this page, `after` that of
    the next one.
    """
    back = link("← newest", path) if here else ""
    on = link("older →", f"{path}?{urlencode({name: after})}") if after else ""
    return tag("nav", back, on, class_="pager", aria_label="Pages of this list") if back or on else Markup("")


def progress(done: int, of: int, label: str = "") -> Markup:
    """Return a bar with the share that is done, and both numbers."""
    share = min(100.0, 100 * done / of) if of else 0.0
    bar = tag("div", tag("i", style=f"width:{share:.1f}%"), class_="bar", role="progressbar",
              aria_valuenow=done, aria_valuemin=0, aria_valuemax=of, aria_label=label or "progress")
    return tag("div", bar, tag("span", f"{done} / {of}"), class_="progress")


def run_state(run: RunSummary) -> Markup:
    """Return a run's state, and the desired state if the run has not reached it yet."""
    target = {"pause": "paused", "cancel": "cancelled"}.get(run.desired)
    coming = target if target and run.state in ("queued", "running") else None
    return join([chip(run.state), tag("span", f"→ {coming}", class_="note") if coming else ""], " ")
