"""Stored data of the tenant by kind, for how long, and what goes next: two parts of the page of storage."""

from collections.abc import Callable, Mapping
from functools import partial

from hone.client import Client
from hone.client.storage_resources import Due, Retained
from services.console.pages import deletion
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, join, mono, tag
from services.console.widgets.tables import RIGHT, Column, LiveSection

_KINDS = (Column("Kind"), Column("Stored", RIGHT), Column("Size", RIGHT), Column("Past its time", RIGHT),
          Column("Kept", "wide"))
_NEXT = (Column("What", "wide"), Column("Kind"), Column("Goes"))
_DELETE: Mapping[str, Callable[[Client, Due], object]] = {
    "runs": lambda hone, one: hone.delete_run(one.id),
    "preflights": lambda hone, one: hone.delete_run(one.id),
    "samples": lambda hone, one: hone.delete_samples(one.id),
    "versions": lambda hone, one: hone.delete_checkpoint(one.name.partition(" ")[0], one.id),
    "exports": lambda hone, one: hone.delete_export(one.id),
    "uploads": lambda hone, one: hone.abort_upload(one.id),
}
"""How a kind is deleted by hand; events go with their run."""


class RetentionSections:
    """The table of kinds, and the table of what goes next with a button for each row."""

    def __init__(self, view: PageView) -> None:
        self._view, self._due = view, dict[str, tuple[Retained, Due]]()
        self._kinds = LiveSection("Kinds of stored data, and how long each is kept", _KINDS, Markup(""), note=(
            "The operator of the stack sets how long; drivers look once a minute."))
        self._next = LiveSection("Goes next without a request", _NEXT, parts.empty(
            "Nothing goes by itself soon", "No setting limits how long this data is kept."), self._add_action)

    async def load(self) -> None:
        """Read both tables again. Raises HoneError."""
        found = await self._view.ask(self._view.hone.retention)
        due = sorted(((kind, one) for kind in found for one in kind.next), key=lambda pair: pair[1].due_at)
        self._due = {f"{kind.kind} {one.id}": (kind, one) for kind, one in due}
        self._kinds.show({kind.kind: kind_cells(kind) for kind in found})
        self._next.show({key: _next_cells(kind, one) for key, (kind, one) in self._due.items()})

    def _add_action(self, row: str) -> None:
        kind, one = self._due[row]
        if delete := _DELETE.get(kind.kind):
            act = partial(self._delete, kind.kind, one, partial(delete, self._view.hone, one))
            self._view.permit(tables.action("Delete", row, lambda: self._view.tried(act)), "run")

    async def _delete(self, kind: str, one: Due, delete: Callable[[], object]) -> None:
        if await deletion.asked(self._view, f"{one.name} ({kind})", "It would go by itself later.", delete):
            await self.load()


def kind_cells(kind: Retained) -> list[object]:
    """Return the cells of a kind's row."""
    setting = tag("div", mono(kind.setting), class_="faint") if kind.setting else ""
    return [kind.kind, formats.count(kind.items), formats.ABSENT if kind.bytes is None else formats.size(kind.bytes),
            formats.count(kind.due), join([kind.kept, setting])]


def _next_cells(kind: Retained, one: Due) -> list[object]:
    return [join([tag("strong", one.name), tag("div", mono(one.id), class_="faint")]), kind.kind, parts.due(one.due_at)]
