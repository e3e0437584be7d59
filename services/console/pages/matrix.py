"""/runs/{id}/matrix: the score of each source of held-out tasks after each stage, as a table with colours."""

from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui
from starlette.requests import Request

from hone.client.matrix import Estimate, Matrix, MatrixCell, MatrixRow
from hone.client.resources import Run
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, html, join, link, tag

_SERIES = {"sampled": "Sampled answers", "greedy": "Greedy answers"}
_MEANS = ("Held-in gain", "Held-out gain", "Overall gain")


async def show(view: PageView, request: Request) -> None:
    """Show the matrix of the answers that the query parameter `series` names, and keep it current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    asked = request.query_params.get("series", "")
    series = asked if asked in _SERIES else "sampled"
    header, shown = RunHeader(view, run, "Matrix"), ui.element("div")
    with shown:
        content = html(Markup(""))

    async def load() -> None:
        await header.refresh()
        content.set_content(page(run, await view.ask(view.hone.matrix, run.id, series)))

    await load()
    view.live(load)


def page(run: Run, found: Matrix) -> Markup:
    """Return the whole of the page below its head."""
    if not found.sources:
        return parts.empty("No evaluation", "The spec of the run has eval: null, so that nothing is held out.")
    choice = tag("nav", *(link(title, f"/runs/{run.id}/matrix?series={name}",
                               aria_current="page" if name == found.series else None)
                          for name, title in _SERIES.items()), class_="jumps", aria_label="Answers")
    answers = f"{found.samples} {found.series} answer{'s' * (found.samples != 1)} to each task"
    note = (f"Mean score of the held-out tasks of each source, {answers}, with its 95 % interval over tasks. More "
            "colour is higher. Sources that the stage trained are marked. The base is the model before the first step.")
    unsure = "Compared task by task. A gain is faint where its interval includes 0."
    return tag("div", choice, parts.section("Scores", scores(found), note=note), _figures(found),
               parts.section("Gains since the base", gains(found), note=unsure), class_="stacked")


def scores(found: Matrix) -> Markup:
    """Return the scores as a table whose cells are coloured by their value."""
    columns = [*found.sources, "Average"]
    lines = [[*map(_score, row.cells), _Cell(formats.number(row.average))] for row in found.rows]
    return _table("Scores by stage and source", columns, found.rows, lines)


def gains(found: Matrix) -> Markup:
    """Return the gain of each source and their means after each stage."""
    lines = [[*(_gain(cell.gain) for cell in row.cells), *map(_gain, (row.held_in, row.held_out, row.overall))]
             for row in found.rows[1:]]
    return _table("Gains by stage and source", [*found.sources, *_MEANS], found.rows[1:], lines)


@dataclass(frozen=True)
class _Cell:
    """Content of a cell of the table, and its looks."""

    content: object
    kind: str = "number"
    style: str | None = None


def _table(
    caption: str, columns: Sequence[str], rows: Sequence[MatrixRow], lines: Sequence[Sequence[_Cell]],
) -> Markup:
    head = [tag("th", one, scope="col", class_="number") for one in columns]
    body = [tag("tr", _stage(row), *(
        tag("td", cell.content, class_=cell.kind, style=cell.style, data_label=column)
        for column, cell in zip(columns, line, strict=True))) for row, line in zip(rows, lines, strict=True)]
    table = tag("table", tag("caption", caption, class_="unseen"),
                tag("thead", tag("tr", tag("th", "After", scope="col"), *head)), tag("tbody", *body), class_="matrix")
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _stage(row: MatrixRow) -> Markup:
    return tag("th", join([row.stage, tag("div", f"step {row.step}", class_="faint")]), scope="row")


def _score(cell: MatrixCell) -> _Cell:
    value = cell.score.value
    if value is None:
        return _Cell(tag("span", "every task masked" if cell.tasks else "no score yet", class_="faint"))
    marked = tag("div", parts.chip("trained", "busy")) if cell.trained else ""
    masked = tag("div", f"{cell.masked} of {cell.tasks} tasks masked", class_="note") if cell.masked else ""
    share = min(1.0, max(0.0, value))
    return _Cell(join([tag("span", f"{value:.3f}", class_="strong"), _interval(cell.score), marked, masked]),
                 "number heat", f"--share: {share:.3f}")


def _gain(found: Estimate) -> _Cell:
    if found.value is None:
        return _Cell(formats.ABSENT)
    value = tag("span", f"{found.value:+.3f}", class_="strong" if found.real else None)
    unsure = "" if found.real else tag("div", "may be none", class_="faint")
    return _Cell(join([value, _interval(found, "+"), unsure]), "number" if found.real else "number unsure")


def _interval(found: Estimate, sign: str = "") -> Markup:
    if found.low is None or found.high is None:
        return Markup("")
    return tag("div", f"{found.low:{sign}.3f} to {found.high:{sign}.3f}", class_="note")


def _figures(found: Matrix) -> Markup:
    """Return forgetting and forward transfer, where the run has a sequence of stages, and whether cells are missing."""
    shown = [parts.figure(label, f"{of.value:+.3f}", join([words, _interval(of, "+")]))
             for label, of, words in (
                 ("Backward transfer", found.backward, "since a source was trained last; below 0: forgotten"),
                 ("Forward transfer", found.forward, "on sources before they were trained")) if of.value is not None]
    if found.incomplete:
        shown.append(parts.figure("Incomplete", "Yes", "a source has no score after a stage", "warn"))
    return parts.figures(*shown) if shown else Markup("")
