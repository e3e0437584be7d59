"""/graders: what tells good from bad: the kinds there are, and what they decided lately."""

from collections.abc import Sequence

from starlette.requests import Request

from hone.client.resources import Grader, GraderActivity
from services.console import formats, parts
from services.console.markup import Markup, details, tag
from services.console.parts import RIGHT, Column
from services.console.view import View, html


async def show(view: View, request: Request) -> None:
    """Show the newest grades summed up, and every kind of grader with its parameters."""
    activity = await view.ask(view.hone.grader_activity)
    kinds = await view.ask(view.hone.graders)
    html(parts.heading("Graders", "What tells good answers from bad ones, and how they have decided."))
    html(parts.section("Newest grades", _activity(activity),
                       note="The newest 10 000, by grader, component and status. A status other than ok, no_answer or "
                            "timeout_candidate is our own fault and masks the sample."))
    html(parts.section("Kinds", *(_kind(one) for one in kinds)))


def _activity(found: Sequence[GraderActivity]) -> Markup:
    if not found:
        return parts.empty("No grades yet", "They are counted once the first samples are graded.")
    columns = [Column("Grader"), Column("Component"), Column("Status"), Column("Grades", RIGHT),
               Column("Mean value", RIGHT), Column("Mean cost", RIGHT), Column("Largest cost", RIGHT)]
    return parts.table(columns, [[
        tag("strong", one.type), one.component or "whole", parts.chip(one.status), formats.count(one.grades),
        formats.number(one.mean_value), _ms(one.mean_cost_ms), _ms(one.max_cost_ms)] for one in found])


def _ms(cost: float) -> str:
    return f"{formats.number(cost)} ms"


def _kind(one: Grader) -> Markup:
    where = "in a process of its own" if one.pooled else "where it is called"
    title = [tag("span", one.name, class_="strong mono"), " ", one.summary]
    span = f"{formats.number(one.low)} to {formats.number(one.high)}"
    said = tag("p", f"Values from {span}; runs {where}.", class_="note")
    return details(tag("span", *title), tag("div", said, parts.schema(one.params_schema)))
