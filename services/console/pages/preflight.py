"""A deep dry run beside the editor of a spec: a button has the base answer some tasks, and a report appears."""

from collections.abc import Callable, Sequence

from nicegui import ui

from hone.client.preflight import Cost, Finding, GradedReferences, GradedSample, Lengths, PreflightReport, ShownPrompt
from hone.client.preflight import Tokens as ReportTokens
from services.console.pages.spec_editor import SpecEditor
from services.console.view import PageView
from services.console.widgets import formats, parts, tables, tokens
from services.console.widgets.markup import Markup, details, join, mono, tag
from services.console.widgets.tables import RIGHT, Column
from services.console.widgets.tokens import Token

_TONES = {"error": "bad", "warning": "warn", "ok": "good"}


class SpecLook:
    """The button that looks at the run of an editor's spec; `show` puts the report on the page."""

    def __init__(self, view: PageView, editor: SpecEditor, show: Callable[[Markup], None]) -> None:
        self._view, self._editor, self._show = view, editor, show
        self._look = view.permit(ui.button("Look at it first", on_click=lambda: view.tried(self._looked), color=None)
                                 .props("outline no-caps").classes("plain"), "run")

    async def _looked(self) -> None:
        spec = self._editor.read()
        if spec is None:
            return
        self._show(tag("p", "The base answers the first tasks. This takes seconds for a small model, and up to two "
                       "minutes.", class_="banner busy", role="status"))
        self._look.disable()
        try:
            report = await self._view.ask(self._view.hone.preflight, spec)
        except BaseException:
            self._show(Markup(""))
            raise
        finally:
            self._look.enable()
        self._show(shown(report))


def shown(report: PreflightReport) -> Markup:
    """Return the report, findings first."""
    return join([
        parts.section("Findings", _findings(report.findings)),
        _filled("First prompts", _specimens([_prompt(one) for one in report.prompts])),
        _filled("Ends", [tag("p", mono(one.text), f" id {one.id}: {', '.join(one.sources)}") for one in report.ends]),
        _filled("Samples of the base", _specimens([_sample(one) for one in report.samples])),
        _filled("Lengths in tokens", [_lengths(report.lengths)] if report.lengths else []),
        _filled("References", [_references(report.references)] if report.references else []),
        _filled("Estimates", [_costs([*report.memory, *report.times])] if report.memory else [])])


def _filled(title: str, content: Sequence[Markup]) -> Markup:
    return parts.section(title, *content) if content else Markup("")


def _specimens(found: Sequence[Markup]) -> list[Markup]:
    return [tag("div", *(tag("div", one, class_="specimen") for one in found), class_="specimens")] if found else []


def _findings(found: Sequence[Finding]) -> Markup:
    columns = [Column("Level"), Column("Check", "check"), Column("Found", "wide"), Column("How to mend it", "wide")]
    return tables.table(columns, [[parts.chip(one.level, _TONES[one.level]), one.check, one.found, one.mend]
                                  for one in found])


def _painted(given: ReportTokens, trained: Sequence[bool] = ()) -> Markup:
    """Return tokens as text: control tokens underlined as named spans are, tokens that are not trained faint."""
    control = set(given.control)
    shown = [Token(id, text, trained=not trained or trained[place],
                   spans=("control token",) if place in control else ())
             for place, (id, text) in enumerate(zip(given.ids, given.texts, strict=True))]
    return tokens.painted(shown, "plain")


def _prompt(one: ShownPrompt) -> Markup:
    opened = f"; it opens {one.reasoning}" if one.reasoning else ""
    answers = [join([tag("p", f"{answer.column}, trained", class_="note"), _painted(answer.tokens, answer.trained)])
               for answer in one.completions]
    ids = details("Ids", mono(" ".join(map(str, one.tokens.ids))))
    return join([tag("p", f"{one.task}, {len(one.tokens.ids)} tokens{opened}", class_="note"), _painted(one.tokens),
                 *answers, ids])


def _sample(one: GradedSample) -> Markup:
    why = "; ".join([*one.reasons, *([f"the grader read {one.extracted!r}"] if one.extracted else [])])
    about = join([parts.chip(one.status), f" score {formats.number(one.score)}, {one.completion_tokens} tokens, ended "
                  f"by {one.finish_reason}{f': {why}' if why else ''}"])
    return join([tag("p", about, class_="note"), _painted(one.tokens, one.trained),
                 details("Prompt", tag("pre", one.prompt))])


def _lengths(found: Sequence[Lengths]) -> Markup:
    columns = [Column("Texts"), *(Column(title, RIGHT) for title in ("Counted", "Median", "90 %", "99 %", "Longest")),
               Column("Over a limit", "wide")]
    return tables.table(columns, [
        [one.name, one.counted, one.median, one.p90, one.p99, one.largest,
         ", ".join(f"{limit.over} over {limit.tokens}, {limit.name}" for limit in one.limits)] for one in found])


def _references(found: Sequence[GradedReferences]) -> Markup:
    columns = [Column("Source"), Column("Grader"), Column("Right", RIGHT), Column("Graded", RIGHT),
               Column("Not right", "wide")]
    return tables.table(columns, [
        [one.source, one.grader, one.right, one.graded,
         "; ".join(f"row {row.row}: {row.reason}" for row in one.wrong) or one.unchecked] for one in found])


def _costs(found: Sequence[Cost]) -> Markup:
    return tables.table([Column("Estimate"), Column("About", RIGHT), Column("Of", "wide")], [
        [one.name, formats.size(int(one.amount)) if one.unit == "bytes" else formats.duration(one.amount), one.basis]
        for one in found])
