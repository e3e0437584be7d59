"""/datasets: the uploaded datasets, and the bad rows of each."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nicegui import ui
from starlette.requests import Request

from hone.client.artifact_resources import Dataset
from services.console.pages import deletion, packages
from services.console.pages.file_forms import FileForm
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

_MOST = 200


async def show(view: PageView, request: Request) -> None:
    """Show every dataset with its number of bad rows."""
    after = request.query_params.get("after")
    found = await view.ask(view.hone.datasets, _MOST, after)
    html(parts.heading("Datasets", "Rows to train on. Each row is checked when it is uploaded."))
    packages.tabs("Datasets")
    _add_form(view)
    html(_datasets(found.data))
    html(parts.pager("/datasets", "after", after, found.next))


def _add_form(view: PageView) -> None:
    async def send(name: str, directory: Path) -> None:
        [file] = directory.iterdir()
        made = await view.ask(view.hone.upload_dataset, name, file, allowed.value)
        ui.navigate.to(f"/datasets/{made.name}")

    form = FileForm(view, "New dataset", "A file with a JSON object per line: prompt or messages, answer or "
                    "completion.", send)
    with form.options:
        allowed = ui.checkbox("Store the good rows if some are bad")


def _datasets(found: Sequence[Dataset]) -> Markup:
    if not found:
        return parts.empty("No datasets yet", "A dataset is a file with a JSON object per line.",
                           "hone data add my-rows rows.jsonl")
    columns = [Column("Dataset"), Column("Rows", RIGHT), Column("Bad rows", RIGHT), Column("Columns", "wide"),
               Column("Size", RIGHT), Column("Uploaded")]
    return tables.table(columns, [[
        link(one.name, f"/datasets/{one.name}", class_="strong"), formats.count(one.rows), _bad(one),
        ", ".join(one.columns), formats.size(sum(file.bytes for file in one.files.values())),
        parts.moment(one.created_at)] for one in found])


def _bad(dataset: Dataset) -> Markup:
    bad = dataset.report.bad
    return parts.chip(f"{bad} bad", "bad") if bad else parts.chip("none", "good")


async def show_one(view: PageView, request: Request) -> None:
    """Show one dataset: its columns, and its bad rows with the value found and the value expected."""
    dataset = await view.ask(view.hone.dataset, request.path_params["name"])
    report = dataset.report
    with ui.element("div").classes("run-head"):
        html(parts.heading(dataset.name, mono(dataset.id), [("Datasets", "/datasets")]))
        deletion.button(view, f"the dataset {dataset.name}", "No run can use it any more.",
                        partial(view.hone.delete_dataset, dataset.id), "/datasets")
    share = report.bad / report.rows if report.rows else 0.0
    html(parts.figures(
        parts.figure("Rows", formats.count(dataset.rows), "stored"),
        parts.figure("Uploaded", formats.count(report.rows), "rows in the file"),
        parts.figure("Bad rows", formats.count(report.bad), formats.percent(share), "warn" if report.bad else "")))
    html(parts.section("Bad rows", _problems(dataset), note="Bad rows are not stored, and no run trains on them."))
    if report.numbers_as_text:
        html(parts.section("Numbers kept as texts", _kept(dataset), note="Written back as numbers they would have "
                           "other characters. Graders' templates insert them as they were written."))
    html(parts.section("Columns", _columns(dataset)))
    html(parts.section("Files", tables.files(dataset.files)))


def _problems(dataset: Dataset) -> Markup:
    if not dataset.report.problems:
        return parts.empty("No bad rows", "Every row passed the checks.")
    columns = [Column("Row", RIGHT), Column("Field"), Column("Found", "wide"), Column("Expected", "wide")]
    shown = tables.table(columns, [
        [one.row, mono(one.field), mono(one.found), one.expected] for one in dataset.report.problems])
    left = dataset.report.bad - len({one.row for one in dataset.report.problems})
    return shown + (tag("p", f"{left} more bad rows are not listed.", class_="note") if left > 0 else "")


def _kept(dataset: Dataset) -> Markup:
    report, columns = dataset.report, [Column("Row", RIGHT), Column("Number", "wide")]
    shown = tables.table(columns, [[one.row, mono(one.number)] for one in report.first_as_text])
    left = report.numbers_as_text - len(report.first_as_text)
    return shown + (tag("p", f"{left} more rows are not listed.", class_="note") if left > 0 else "")


def _columns(dataset: Dataset) -> Markup:
    columns = [Column("Column"), Column("Rows with this column")]
    return tables.table(columns, [
        [mono(name), parts.progress(rows, dataset.rows, name)] for name, rows in dataset.columns.items()])
