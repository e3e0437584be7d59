"""/datasets: what was uploaded, and which rows are bad."""

from collections.abc import Sequence

from starlette.requests import Request

from hone.client.resources import Dataset
from services.console import formats, parts
from services.console.markup import Markup, link, tag
from services.console.models import files
from services.console.parts import RIGHT, Column
from services.console.view import View, html

_MOST = 200


async def show(view: View, request: Request) -> None:
    """Show every dataset with how many of its rows are bad."""
    after = request.query_params.get("after")
    found = await view.ask(view.hone.datasets, _MOST, after)
    html(parts.heading("Datasets", "Rows to train on, each one checked when it was uploaded."))
    html(_datasets(found.data))
    html(parts.pager("/datasets", "after", after, found.next))


def _datasets(found: Sequence[Dataset]) -> Markup:
    if not found:
        return parts.empty("No datasets yet", "A dataset is a file with one JSON object a line.",
                           "hone data add my-rows rows.jsonl")
    columns = [Column("Dataset"), Column("Rows", RIGHT), Column("Bad rows", RIGHT), Column("Columns", "wide"),
               Column("Size", RIGHT), Column("Uploaded")]
    return parts.table(columns, [[
        link(one.name, f"/datasets/{one.name}", class_="strong"), formats.count(one.rows), _bad(one),
        ", ".join(one.columns), formats.size(sum(file.bytes for file in one.files.values())),
        parts.moment(one.created_at)] for one in found])


def _bad(dataset: Dataset) -> Markup:
    bad = dataset.report.bad
    return parts.chip(f"{bad} bad", "bad") if bad else parts.chip("none", "good")


async def show_one(view: View, request: Request) -> None:
    """Show one dataset: its columns, its bad rows with what was found and what was expected."""
    dataset = await view.ask(view.hone.dataset, request.path_params["name"])
    report = dataset.report
    html(parts.heading(dataset.name, parts.mono(dataset.id), [("Datasets", "/datasets")]))
    share = report.bad / report.rows if report.rows else 0.0
    html(parts.figures(
        parts.figure("Rows", formats.count(dataset.rows), "stored"),
        parts.figure("Uploaded", formats.count(report.rows), "rows in the file"),
        parts.figure("Bad rows", formats.count(report.bad), formats.percent(share), "warn" if report.bad else "")))
    html(parts.section("Bad rows", _problems(dataset), note="They are not stored and nothing trains on them."))
    html(parts.section("Columns", _columns(dataset)))
    html(parts.section("Files", files(dataset.files)))


def _problems(dataset: Dataset) -> Markup:
    if not dataset.report.problems:
        return parts.empty("No bad rows", "Every row has what a row needs.")
    columns = [Column("Row", RIGHT), Column("Field"), Column("Found", "wide"), Column("Expected", "wide")]
    shown = parts.table(columns, [[one.row, parts.mono(one.field), parts.mono(one.found), one.expected]
                                  for one in dataset.report.problems])
    left = dataset.report.bad - len({one.row for one in dataset.report.problems})
    return shown + (tag("p", f"{left} more bad rows are not listed.", class_="note") if left > 0 else "")


def _columns(dataset: Dataset) -> Markup:
    columns = [Column("Column"), Column("Rows that have it")]
    return parts.table(columns, [[parts.mono(name), parts.progress(rows, dataset.rows, name)]
                                 for name, rows in dataset.columns.items()])
