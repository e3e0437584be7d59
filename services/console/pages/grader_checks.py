"""/graders/checks: how the verdicts of graders agreed with the labels of sets, the newest check first."""

from collections.abc import Sequence

from starlette.requests import Request

from hone.client.check_resources import GraderCheck
from services.console.pages import graders
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, details, html, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

_PATH = "/graders/checks"
_ON_PAGE = 25
_COLUMNS = (Column("Check", "name"), Column("Grader", "name"), Column("Asked by", "name"), Column("1 − fp − fn", RIGHT),
            Column("fp", RIGHT), Column("fn", RIGHT), Column("Keys", RIGHT), Column("None", RIGHT), Column("When"))
_NOTE = ("fp: wrong outputs that are accepted; fn: right outputs that are refused; Keys: texts such as “Solution:” "
         "that "
         "are accepted; None: without a verdict.")
_KINDS = (Column("Kind"), Column("Pairs", RIGHT), Column("Right, accepted", RIGHT), Column("Wrong, accepted", RIGHT),
          Column("Right, refused", RIGHT), Column("Wrong, refused", RIGHT), Column("No verdict", RIGHT))


async def show(view: PageView, request: Request) -> None:
    """Show a page of checks, with the counts by kind of each below."""
    after = request.query_params.get("after")
    found = await view.ask(view.hone.grader_checks, _ON_PAGE, after)
    graders.head("Checks", "Graders measured on outputs with labels. A judge that accepts wrong outputs teaches them.")
    if not found.data:
        html(parts.section("Checks", parts.empty(
            "No checks yet", "A run with judge_check makes some, or the command.",
            "hone graders check grader.yaml --set short_answers")))
        return
    html(parts.section("Checks", tables.table(_COLUMNS, [_cells(one) for one in found.data]),
                       parts.pager(_PATH, "checks", after, found.next), note=_NOTE))
    html(parts.section("By kind", *(_kinds(one) for one in found.data if one.counts)))


def _cells(one: GraderCheck) -> Sequence[object]:
    figures, share = one.figures, formats.percent
    asked = "a request" if one.run_id is None else link(f"{one.run_id} step {one.step}", f"/runs/{one.run_id}")
    ended = [formats.number(figures.gap), share(figures.false_accepts), share(figures.false_refusals),
             share(figures.key_accepts), share(figures.no_verdict)]
    return [_state(one), tag("span", f"{one.grader['type']} on {one.set}", title=one.grader_hash),
            asked, *ended, parts.moment(one.created_at)]


def _state(one: GraderCheck) -> Markup:
    if one.state == "done":
        return parts.chip("done")
    judged = tag("p", one.reason or f"{one.judged} of {one.pairs} pairs are judged", class_="note")
    return tag("div", parts.chip(one.state), judged)


def _kinds(one: GraderCheck) -> Markup:
    rows = [[kind, formats.count(counts.tp + counts.fp + counts.fn + counts.tn + counts.invalid),
             *map(formats.count, (counts.tp, counts.fp, counts.fn, counts.tn, counts.invalid))]
            for kind, counts in one.counts.items()]
    judges = ", ".join(f"{name}: {pinned or 'unknown'}" for name, pinned in one.judges.items()) or "no judge"
    title = tag("span", mono(one.id), f" {one.grader['type']} on {one.set}, {formats.duration(one.seconds)}, "
                f"{formats.count(sum(one.tokens.values()))} tokens")
    return details(title, tag("div", tag("p", judges, class_="note"), tables.table(_KINDS, rows)))
