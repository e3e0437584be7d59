"""/runs/{id}/versions: the versions of a run's policy, and those on their way out."""

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import Checkpoint, Export
from services.console import downloads, formats, parts
from services.console.markup import Markup, details, join, link, tag
from services.console.parts import RIGHT, Column
from services.console.run_header import RunHeader
from services.console.view import View, html

_PAGE = 100
_REFRESH_S = 5.0


async def show(view: View, request: Request) -> None:
    """Show versions and exports, and keep them current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    page = _Versions(view, run.id, RunHeader(view, run, "Versions"), request.query_params.get("after"))
    await page.load()
    view.live(page.load, _REFRESH_S)


class _Versions:
    """Both tables, and the button that asks for an export."""

    def __init__(self, view: View, run_id: str, header: RunHeader, after: str | None) -> None:
        self._view, self._run_id, self._header, self._after = view, run_id, header, after
        self._exports = html(Markup(""))
        self._ask = ui.button(
            "Export the newest version", on_click=lambda: view.tried(self._export), color=None).props(
            "outline no-caps").classes("plain")
        self._listed = html(Markup(""))

    async def load(self) -> None:
        """Read both lists again. Raises HoneError."""
        run = await self._header.refresh()
        checkpoints = await self._view.ask(self._view.hone.checkpoints, self._run_id, _PAGE, self._after)
        exports = await self._view.ask(self._view.hone.exports, self._run_id, _PAGE)
        numbers = {one.id: one.number for one in checkpoints.data}
        self._ask.set_visibility(run.version_id is not None)
        pager = parts.pager(f"/runs/{self._run_id}/versions", "after", self._after, checkpoints.next)
        self._listed.set_content(_versions(checkpoints.data, pager))
        self._exports.set_content(_exports(exports.data, numbers, exports.next is not None))

    async def _export(self) -> None:
        await self._view.ask(self._view.hone.create_export, self._run_id)
        await self.load()


def _versions(found: list[Checkpoint], pager: Markup) -> Markup:
    if not found:
        return parts.section("Versions", parts.empty("No versions yet", "Number 0 is the base, once a trainer has it."))
    columns = [Column("Number", RIGHT), Column("Version"), Column("State"), Column("Weights"), Column("SHA-256"),
               Column("After"), Column("Made")]
    return parts.section("Versions", parts.table(columns, [[
        one.number, parts.mono(one.id), parts.chip(one.state),
        parts.chip("kept", "good") if one.stored else parts.chip("removed", "off"),
        parts.mono(formats.short(one.weights_sha256), one.weights_sha256),
        parts.mono(formats.short(one.parent_id, 14), one.parent_id), parts.moment(one.created_at)]
        for one in found]), pager,
        note="Number n follows step n; 0 is the base. Older weights are removed as the spec's keep_versions says.")


def _exports(found: list[Export], numbers: dict[str, int], cut: bool) -> Markup:
    if not found:
        return parts.section("Exports", parts.empty(
            "No exports", "An export is a version as files for stock engines; one of them agrees before it is done."))
    columns = [Column("Export"), Column("Version", RIGHT), Column("State"), Column("Largest difference", RIGHT),
               Column("Files"), Column("Asked for")]
    return parts.section("Exports", parts.table(columns, [[
        parts.mono(one.id), numbers.get(one.version_id, parts.mono(formats.short(one.version_id))),
        join([parts.chip(one.state), one.reason or ""], " "),
        f"{formats.number(one.max_abs_diff)} nats" if one.max_abs_diff is not None else formats.ABSENT,
        _files(one), parts.moment(one.created_at)] for one in found]), note=f"The newest {_PAGE}." if cut else "")


def _files(export: Export) -> Markup:
    if not export.files:
        return Markup(formats.ABSENT)
    total = sum(one.bytes for one in export.files.values())
    whole = link("Download all", downloads.archive(export.id), download=f"{export.id}.tar")
    single = [tag("div", link(name, downloads.file(export.id, name), download=name), f" {formats.size(one.bytes)}")
              for name, one in sorted(export.files.items())]
    return join([whole, details(f"{len(export.files)} files, {formats.size(total)}", join(single))])
