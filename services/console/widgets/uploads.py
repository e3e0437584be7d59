"""Uploads in parts that are on their way, or that were refused."""

from collections.abc import Sequence
from typing import Literal

from hone.client.upload_resources import Upload
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, mono
from services.console.widgets.tables import RIGHT, Column


def section(found: Sequence[Upload], kind: Literal["model", "dataset"]) -> Markup:
    """Return the part of a page about open and refused uploads of a kind; nothing if there are none."""
    shown = [one for one in found if one.kind == kind and one.state in ("open", "refused")]
    if not shown:
        return Markup("")
    columns = [Column("Name"), Column("Upload"), Column("State"), Column("Sent", RIGHT), Column("Size", RIGHT),
               Column("Begun"), Column("Reason")]
    return parts.section("Uploads", tables.table(columns, [[
        one.name, mono(one.id), parts.chip(one.state, "busy" if one.state == "open" else "bad"),
        f"{one.sent / max(1, one.bytes):.0%}", formats.size(one.bytes), parts.moment(one.created_at),
        one.reason or formats.ABSENT] for one in shown]),
        note="The same command goes on with an upload that was interrupted. An upload without new parts expires.")
