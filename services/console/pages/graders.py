"""/graders: the kinds of graders, and their newest grades."""

from collections.abc import Sequence

from starlette.requests import Request

from hone.client.resources import Grader, GraderActivity
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, details, html, link, tag
from services.console.widgets.tables import RIGHT, Column

PAGES = {"Graders": "/graders", "Try graders": "/graders/try", "Judges": "/judges", "Checks": "/graders/checks"}
"""Title -> path."""


def head(here: str, note: str) -> None:
    """Show the head of a page of this place, with links to its pages."""
    html(parts.heading(here, note))
    html(tag("nav", *(link(name, path, aria_current="page" if name == here else None) for name, path in PAGES.items()),
             class_="tabs", aria_label="Pages of Graders"))


async def show(view: PageView, request: Request) -> None:
    """Show sums over the newest grades, and every kind of grader with its parameters."""
    activity = await view.ask(view.hone.grader_activity)
    kinds = await view.ask(view.hone.graders)
    head("Graders", "Graders tell good answers from bad answers: their newest grades, and their kinds.")
    html(parts.section("Newest grades", _activity(activity),
                       note="The newest 10 000 grades, by grader, component and status. A status other than ok, "
                            "no_answer or timeout_candidate is a fault of the service and masks the sample."))
    html(parts.section("Kinds", *(_kind(one) for one in kinds)))


def _activity(found: Sequence[GraderActivity]) -> Markup:
    if not found:
        return parts.empty("No grades yet", "Grades are counted here once the first samples are graded.")
    columns = [Column("Grader"), Column("Component"), Column("Status"), Column("Grades", RIGHT),
               Column("Mean value", RIGHT), Column("Mean cost", RIGHT), Column("Largest cost", RIGHT)]
    return tables.table(columns, [[
        tag("strong", one.type), one.component or "whole", parts.chip(one.status), formats.count(one.grades),
        formats.number(one.mean_value), _ms(one.mean_cost_ms), _ms(one.max_cost_ms)] for one in found])


def _ms(cost: float) -> str:
    return f"{formats.number(cost)} ms"


def _kind(one: Grader) -> Markup:
    process = "in a process of its own" if one.pooled else "in the process that calls it"
    title = [tag("span", one.name, class_="strong mono"), " ", one.summary]
    span = f"{formats.number(one.low)} to {formats.number(one.high)}"
    note = tag("p", f"Values from {span}; runs {process}.", class_="note")
    return details(tag("span", *title), tag("div", note, tables.schema(one.params_schema)))
