"""/runs/{id}/memory: what a policy remembers of changing users, and why its answers fail, by period."""

from collections.abc import Sequence

from nicegui import ui
from starlette.requests import Request

from hone.client.matrix import Estimate
from hone.client.memory import MemoryReport, MemoryRow, MemorySource
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, html, join, link, tag

_SERIES = {"sampled": "Sampled answers", "greedy": "Greedy answers"}
_CAUSES = {"write": "not known after it was last said", "read": "known then, and lost later",
           "utilization": "known, and not used"}
_COLUMNS = ("Memory score", "Accuracy", "Write", "Read", "Utilization", "Known")


async def show(view: PageView, request: Request) -> None:
    """Show the newest evaluation's answers of the query parameter `series`, and keep them current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    asked = request.query_params.get("series", "")
    series = asked if asked in _SERIES else "sampled"
    header, shown = RunHeader(view, run, "Memory"), ui.element("div")
    with shown:
        content = html(Markup(""))

    async def load() -> None:
        await header.refresh()
        content.set_content(page(run.id, await view.ask(view.hone.memory, run.id, None, series)))

    await load()
    view.live(load)


def page(run_id: str, found: MemoryReport) -> Markup:
    """Return the whole of the page below its head."""
    choice = tag("nav", *(link(title, f"/runs/{run_id}/memory?series={name}",
                               aria_current="page" if name == found.series else None)
                          for name, title in _SERIES.items()), class_="jumps", aria_label="Answers")
    if not found.sources:
        advice = "No evaluation of this run has measured its memory. The environment changing_user does."
        return join([choice, parts.empty("No memory asked", advice)])
    incomplete = [parts.figures(parts.figure("Incomplete", "Yes", "there are more samples than are read, or some were "
                                             "deleted", "warn"))] if found.truncated else []
    return tag("div", choice, *(_section(one, found.step) for one in found.sources), *incomplete, class_="stacked")


def _section(source: MemorySource, step: int | None) -> Markup:
    note = (f"Held-out lives after step {step}. Shares of the questions that are asked after each period: answered "
            "right, or failed because a value was not written, was lost later, or was known and not used. 95 % "
            "intervals are over lives. The memory score is 0 at chance and 1 at the upper bound.")
    if source.whole is None:
        nothing = parts.empty("No answers", "No sample of this source has a score and reached a question.")
        return parts.section(source.title, nothing, _counts(source))
    rows = [source.whole, *source.periods]
    return parts.section(source.title, _table(rows, source.title), _counts(source), note=note)


def _table(rows: Sequence[MemoryRow], named: str) -> Markup:
    head = [tag("th", one, scope="col", class_="number") for one in _COLUMNS]
    body = [tag("tr", _name(row), *(
        tag("td", _figure(cell), class_="number slim", data_label=column)
        for column, cell in zip(_COLUMNS, _cells(row), strict=True))) for row in rows]
    caption = f"Figures by period: {named}"
    table = tag("table", tag("caption", caption, class_="unseen"),
                tag("thead", tag("tr", tag("th", "Period", scope="col"), *head)), tag("tbody", *body))
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _name(row: MemoryRow) -> Markup:
    counts = f"{row.lives} lives, {row.samples} samples, {row.questions} questions"
    name = "All" if row.period is None else str(row.period)
    return tag("th", join([name, tag("div", counts, class_="faint")]), scope="row")


def _cells(row: MemoryRow) -> Sequence[Estimate]:
    return row.memory_score, row.accuracy, row.write, row.read, row.utilization, row.known


def _figure(found: Estimate) -> Markup:
    if found.value is None:
        return Markup(formats.ABSENT)
    spread = "" if found.low is None or found.high is None else tag(
        "div", f"{found.low:.3f} to {found.high:.3f}", class_="note")
    return join([tag("span", f"{found.value:.3f}", class_="strong"), spread])


def _counts(source: MemorySource) -> Markup:
    """Return the counts of failures by cause, and of the samples that are not whole."""
    shown, row = [], source.whole
    if row:
        shown += [parts.figure(f"Failed by {cause}", str(count), f"of {row.questions} questions; {_CAUSES[cause]}")
                  for cause, count in row.failures.items()]
        shown.append(parts.figure("Random to upper", f"{row.random:.3f} to {row.upper:.3f}", _bounds(row)))
    if source.masked:
        shown.append(parts.figure("Masked", str(source.masked), "samples without a score, left out", "warn"))
    if source.cut:
        shown.append(parts.figure("Cut", str(source.cut), "samples that ended before their last period", "warn"))
    if row and row.json_errors:
        shown.append(parts.figure("Unreadable", str(row.json_errors), "answers; a random option or not known counts"))
    return parts.figures(*shown) if shown else Markup("")


def _bounds(row: MemoryRow) -> str:
    left_out = f"; {row.left_out} periods have no score" if row.left_out else ""
    return f"the bounds of the memory score{left_out}"
