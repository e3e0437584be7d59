"""/benchmarks/{name}/{run}: one evaluation of a benchmark, answer by answer, with links to the samples."""

from collections.abc import Mapping

from nicegui import ui
from starlette.requests import Request

from hone.client.benchmark_resources import Examination, ExaminedTask
from services.console.pages.leaderboard import FAILURES, band
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, tag
from services.console.widgets.tables import RIGHT, Column

_LOWEST = 1e-9


async def show(view: PageView, request: Request) -> None:
    """Show the evaluation that path and query name."""
    name, run_id = request.path_params["name"], request.path_params["run_id"]
    step = request.query_params.get("step", "")
    series = "greedy" if request.query_params.get("series") == "greedy" else "sampled"
    found = await view.ask(view.hone.examination, name, run_id, int(step) if step.isdecimal() else None, series)
    with ui.element("div").classes("stacked"):
        html(page(name, found))


def page(name: str, found: Examination) -> Markup:
    """Return the whole of the page."""
    one = found.standing
    head = parts.heading(one.model, join(["Answers to the benchmark ", name, " in the run ",
                                          link(one.run_name, f"/runs/{one.run_id}"), f", step {one.step}"]),
                         [("Leaderboard", f"/benchmarks/{name}")])
    return tag("div", head, _figures(found), parts.section("Answers", _answers(found), note=(
        "A sample shows the conversation, the calls, and the checks that its last state passed.")), class_="stacked")


def _figures(found: Examination) -> Markup:
    one = found.standing
    share = f"{100 * (one.passed.value or 0):.0f} %"
    return parts.figures(
        parts.figure("Score", formats.number(one.score.value), band(one.score)),
        parts.figure("Passed", share, f"{sum(each.passed for each in found.answers)} of {one.answers} answers"),
        parts.figure("Tool calls", f"{one.reliability.calls:.1f}", f"{100 * one.reliability.failed:.1f} % failed"),
        parts.figure("False claims", f"{100 * one.false_claims:.0f} %", "answers that report work that was not done",
                     "warn" if one.false_claims else ""),
        parts.figure("Collateral", f"{one.collateral:.2f}", "changes of an answer that no task allows",
                     "warn" if one.collateral else ""))


def _answers(found: Examination) -> Markup:
    columns = [Column("Task", "stacks"), Column("Score", RIGHT), Column("Failed checks", "kinds"),
               Column("Collateral", RIGHT), Column("Calls", RIGHT), Column("Tokens", RIGHT), Column("Sample")]
    return tables.table(columns, [[
        _task(one), _score(one), _failed(one.failures), f"{one.collateral:.0f}" if one.collateral else formats.ABSENT,
        _calls(one), formats.count(one.completion_tokens),
        link("open", f"/runs/{found.standing.run_id}/samples/{one.group_id}/{one.index}",
             aria_label=f"Sample of {one.family} {one.seed}")] for one in found.answers])


def _task(one: ExaminedTask) -> Markup:
    return join([tag("span", f"{one.family} {one.seed}", class_="strong"),
                 tag("div", ", ".join(one.difficulties), class_="note")])


def _score(one: ExaminedTask) -> Markup:
    if one.score is None:
        return parts.chip("masked", "wait")
    tone = "good" if one.passed else "bad" if one.score < _LOWEST else "warn"
    return parts.chip(formats.number(one.score), tone)


def _failed(failures: Mapping[str, float]) -> Markup:
    return join([parts.chip(f"{FAILURES[name][0]} {count:.0f}", FAILURES[name][1])
                 for name, count in failures.items() if name in FAILURES], " ") if failures else Markup(formats.ABSENT)


def _calls(one: ExaminedTask) -> Markup:
    failed = tag("div", f"{one.failed_calls:.0f} failed", class_="note") if one.failed_calls else ""
    return join([f"{one.calls:.0f}", failed])
