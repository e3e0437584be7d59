"""`hone doctor SPEC`: what a run of the spec would do, before it starts."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from hone.cli import connection
from hone.cli.output import say, table
from hone.client.preflight import Cost, Finding, GradedSample, Lengths, PreflightReport, ShownPrompt, Tokens
from hone.spec.files import read

_CONTROL, _TRAINED = Style(color="magenta", bold=True), Style(color="green")
_LEVELS = {"error": "red", "warning": "yellow", "ok": "green"}
_IDS = 24
"""Ids of a prompt that are printed."""


def preflight(spec: Path, as_json: bool, samples: int, deadline_s: float) -> bool:
    """Have the gateway look at the run, print its report, and return whether no finding is an error.

    Raises Invalid and HoneError for a spec that cannot be read.
    """
    with connection.client() as client:
        report = client.preflight(read(spec), samples, deadline_s)
    if as_json:
        say(report.model_dump_json())
    else:
        show(Console(highlight=False, soft_wrap=True), report)
    return report.ok


def show(console: Console, report: PreflightReport) -> None:
    """Print a report for people."""
    for title, lines in (
        ("First prompts", (line for one in report.prompts for line in _prompt(one))),
        ("Samples of the base", (line for one in report.samples for line in _sample(one))),
    ):
        _titled(console, title, lines)
    if report.prompts or report.samples:
        console.print(Text.assemble("Colours: ", ("control tokens", _CONTROL), ", ", ("trained tokens", _TRAINED)))
    _lengths(report.lengths)
    _costs([*report.memory, *report.times])
    _titled(console, "Findings", (line for one in report.findings for line in _finding(one)))


def _titled(console: Console, title: str, lines: Iterator[Text]) -> None:
    shown = list(lines)
    if shown:
        console.print(Text(f"\n{title}", style="bold"))
    for line in shown:
        console.print(line)


def _prompt(one: ShownPrompt) -> Iterator[Text]:
    ids = " ".join(map(str, one.tokens.ids[:_IDS])) + (" …" if len(one.tokens.ids) > _IDS else "")
    yield Text(f"{one.task}, {len(one.tokens.ids)} tokens: {ids}", style="dim")
    yield _coloured(one.tokens)
    for completion in one.completions:
        yield Text.assemble((f"{completion.column}: ", "dim"), _coloured(completion.tokens, completion.trained))


def _sample(one: GradedSample) -> Iterator[Text]:
    score = "no score" if one.score is None else f"score {one.score:g}"
    why = "; ".join([*one.reasons, *([f"read {one.extracted!r}"] if one.extracted else [])])
    yield Text(f"{score} ({one.status}), {one.completion_tokens} tokens, ended by {one.finish_reason}"
               f"{f': {why}' if why else ''}", style="dim")
    yield Text.assemble((one.prompt, ""), " ", _coloured(one.tokens, one.trained))


def _coloured(tokens: Tokens, trained: Sequence[bool] = ()) -> Text:
    """Return tokens as text: control tokens in one colour, trained ones in another."""
    control, text = set(tokens.control), Text()
    for place, piece in enumerate(tokens.texts):
        trains = place < len(trained) and trained[place]
        style = _CONTROL if place in control else _TRAINED if trains else Style()
        text.append(piece, style + Style(underline=True) if trains and place in control else style)
    return text


def _lengths(found: Sequence[Lengths]) -> None:
    if found:
        say("")
        table(("Tokens of", "counted", "median", "90 %", "99 %", "longest", "over a limit"), (
            (one.name, f"{one.counted} of {one.total or 'all that come'}",
             *map(str, (one.median, one.p90, one.p99, one.largest)),
             ", ".join(f"{limit.over} > {limit.tokens} ({limit.name})" for limit in one.limits)) for one in found))


def _costs(found: Iterable[Cost]) -> None:
    lines = [(one.name, amount(one), one.basis) for one in found]
    if lines:
        say("")
        table(("Estimate", "about", "of"), lines)


def amount(cost: Cost) -> str:
    """Return an estimate with its unit."""
    if cost.unit == "seconds":
        return f"{cost.amount:.2g} s" if cost.amount < 100 else f"{cost.amount / 60:,.0f} min"
    return f"{cost.amount / 2**30:.1f} GiB" if cost.amount >= 2**30 else f"{cost.amount / 2**20:.1f} MiB"


def _finding(one: Finding) -> Iterator[Text]:
    yield Text.assemble((f"{one.level:<9}", _LEVELS[one.level]), f"{one.check}: {one.found}")
    if one.mend:
        yield Text(f"{'':9}mend: {one.mend}")
