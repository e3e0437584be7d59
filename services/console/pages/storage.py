"""/admin/storage: how much the tenant stores, how long that is kept, what goes next, and what is being deleted."""

from collections.abc import Sequence
from itertools import islice

from starlette.requests import Request

from hone.client import every
from hone.client.account_resources import Quotas
from hone.client.artifact_resources import Dataset, Model
from hone.client.deletion_resources import Deletion
from services.console.pages import administration
from services.console.pages.retention import RetentionSections
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column, LiveSection

_MOST, _PAGE, _LARGEST, _REFRESH_S, _RETENTION_S = 5000, 500, 20, 5.0, 30.0
_DELETIONS = (Column("Deleted"), Column("Kind"), Column("State"), Column("Waits for", "wide"), Column("Rows", RIGHT),
              Column("Asked for"))


async def show(view: PageView, request: Request) -> None:
    """Show sums, the largest models and datasets, and, kept current, what is kept and what goes."""
    administration.head(view, "Storage", "Objects of the tenant in the object store.")
    hone = view.hone
    models = await view.ask(lambda: list(islice(every(hone.models, limit=_PAGE), _MOST)))
    datasets = await view.ask(lambda: list(islice(every(hone.datasets, limit=_PAGE), _MOST)))
    html(_sums(await view.ask(hone.quotas), models, datasets))
    html(_largest(models, datasets))
    retention = RetentionSections(view)
    deletions = LiveSection("Deletions", _DELETIONS, parts.empty(
        "Nothing was deleted", "Runs, models, datasets, exports and versions have a button for it on their pages."))

    async def load() -> None:
        found = await view.ask(hone.deletions, _LARGEST)
        deletions.show({one.id: cells(one) for one in found.data})

    await retention.load()
    await load()
    view.live(load, _REFRESH_S)
    view.live(retention.load, _RETENTION_S)


def _sums(quotas: Quotas, models: Sequence[Model], datasets: Sequence[Dataset]) -> Markup:
    stored, of_models, of_datasets = quotas.max_stored_bytes, sum(map(size, models)), sum(map(size, datasets))
    limit = "no quota" if stored.limit is None else f"of {formats.size(stored.limit)}"
    return parts.figures(
        parts.figure("Stored in all", formats.size(stored.used), limit),
        parts.figure("Models", formats.size(of_models), f"{len(models)} of them"),
        parts.figure("Datasets", formats.size(of_datasets), f"{len(datasets)} of them"),
        parts.figure("Runs and uploads", formats.size(max(0.0, stored.used - of_models - of_datasets)),
                     "versions, snapshots, exports, open uploads"))


def size(stored: Model | Dataset) -> int:
    """Return the bytes of all files of a model or dataset."""
    return sum(file.bytes for file in stored.files.values())


def _largest(models: Sequence[Model], datasets: Sequence[Dataset]) -> Markup:
    named: list[tuple[str, Model | Dataset]] = [("model", one) for one in models]
    named += [("dataset", one) for one in datasets]
    rows = sorted(named, key=lambda row: size(row[1]), reverse=True)[:_LARGEST]
    if not rows:
        return parts.section("Largest models and datasets", parts.empty("Nothing is stored", "Upload a model first."))
    columns = [Column("Name"), Column("Kind"), Column("Size", RIGHT), Column("Added")]
    return parts.section("Largest models and datasets", tables.table(columns, [
        [link(one.name, f"/{kind}s/{one.name}", class_="strong"), kind, formats.size(size(one)),
         parts.moment(one.created_at)] for kind, one in rows]))


def cells(one: Deletion) -> list[object]:
    """Return the cells of a deletion's row."""
    return [join([tag("strong", one.name), tag("div", mono(one.id), class_="faint")]), one.kind, parts.chip(one.state),
            one.waits_for or formats.ABSENT, formats.count(one.removed_rows), parts.moment(one.requested_at)]
