"""/runs/{id}/versions: the versions of a run's policy, their exports, and the download of an export's files."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse

from hone.client import HoneError
from hone.client.deletion_resources import Deletion
from hone.client.errors import Unauthenticated
from hone.client.resources import Checkpoint, Export
from services.console.pages import deletion, sign_in
from services.console.pages.run_header import RunHeader
from services.console.sessions import BrowserSession, BrowserSessions
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, details, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column, LiveSection

_PAGE = 100
_REFRESH_S = 5.0
_VERSIONS = (Column("Number", RIGHT), Column("Version"), Column("State"), Column("Weights"), Column("SHA-256"),
             Column("Parent"), Column("Created"))
_EXPORTS = (Column("Export"), Column("Version", RIGHT), Column("State"), Column("Largest difference", RIGHT),
            Column("Files"), Column("Requested"))


async def show(view: PageView, request: Request) -> None:
    """Show versions and exports, and keep them current."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    page = _VersionsPage(view, run.id, RunHeader(view, run, "Versions"), request.query_params.get("after"))
    await page.load()
    view.live(page.load, _REFRESH_S)


class _VersionsPage:
    """The tables of exports and versions, and the button that exports the newest version."""

    def __init__(self, view: PageView, run_id: str, header: RunHeader, after: str | None) -> None:
        self._view, self._run_id, self._header, self._after = view, run_id, header, after
        self._stored = dict[str, Checkpoint]()
        self._exports = LiveSection("Exports", _EXPORTS, parts.empty(
            "No exports", "An export is a version as files for stock engines. A stock engine checks the files."),
            self._add_export_actions)
        self._ask = view.permit(ui.button(
            "Export the newest version", on_click=lambda: view.tried(self._export), color=None).props(
            "outline no-caps").classes("plain"), "run")
        self._versions = LiveSection("Versions", _VERSIONS, parts.empty(
            "No versions yet", "Number 0 is the base. It appears once a trainer has loaded it."),
            self._add_version_actions,
            note="Number n follows step n; number 0 is the base. The spec's keep_versions limits the kept weights.")

    async def load(self) -> None:
        """Read both lists again. Raises HoneError."""
        run = await self._header.refresh()
        checkpoints = await self._view.ask(self._view.hone.checkpoints, self._run_id, _PAGE, self._after)
        exports = await self._view.ask(self._view.hone.exports, self._run_id, _PAGE)
        self._ask.set_visibility(run.version_id is not None)
        self._stored = {one.id: one for one in checkpoints.data if one.stored}
        pager = parts.pager(f"/runs/{self._run_id}/versions", "after", self._after, checkpoints.next)
        # A version whose weights went has no button, so it gets a row of its own.
        self._versions.show({one.id if one.stored else f"{one.id} removed": _version_cells(one)
                             for one in checkpoints.data}, pager)
        numbers = {one.id: one.number for one in checkpoints.data}
        newest = tag("p", f"The newest {_PAGE}.", class_="note") if exports.next is not None else Markup("")
        self._exports.show({one.id: _export_cells(one, numbers) for one in exports.data}, newest)

    async def _export(self, version_id: str | None = None) -> None:
        await self._view.ask(self._view.hone.create_export, self._run_id, version_id)
        await self.load()

    def _add_version_actions(self, row: str) -> None:
        if version := self._stored.get(row):
            self._view.permit(tables.action("Export", f"version {version.number}", lambda: self._view.tried(
                partial(self._export, version.id))), "run")
            self._add_delete(f"the weights of version {version.number}", f"version {version.number}",
                             "Its line stays, as removed.", partial(
                                 self._view.hone.delete_checkpoint, self._run_id, version.id))

    def _add_export_actions(self, row: str) -> None:
        self._add_delete(f"the export {row}", row, "Its files go. The version can be exported again.",
                         partial(self._view.hone.delete_export, row))

    def _add_delete(self, what: str, of: str, words: str, delete: Callable[[], Deletion]) -> None:
        async def act() -> None:
            if await deletion.asked(self._view, what, words, delete):
                await self.load()

        self._view.permit(tables.action("Delete", of, lambda: self._view.tried(act), "plain grave"), "run")


def _version_cells(one: Checkpoint) -> list[object]:
    return [one.number, mono(one.id), parts.chip(one.state),
            parts.chip("kept", "good") if one.stored else parts.chip("removed", "off"),
            mono(formats.short(one.weights_sha256), one.weights_sha256),
            mono(formats.short(one.parent_id, 14), one.parent_id), parts.moment(one.created_at)]


def _export_cells(one: Export, numbers: dict[str, int]) -> list[object]:
    return [mono(one.id), numbers.get(one.version_id, mono(formats.short(one.version_id))),
            join([parts.chip(one.state), one.reason or one.sampling_note], " "),
            f"{formats.number(one.max_abs_diff)} nats" if one.max_abs_diff is not None else formats.ABSENT,
            _files(one), parts.moment(one.created_at)]


def _files(export: Export) -> Markup:
    if not export.files:
        return Markup(formats.ABSENT)
    total = sum(one.bytes for one in export.files.values())
    whole = link("Download all", archive_path(export.id), download=f"{export.id}.tar")
    single = [tag("div", link(name, file_path(export.id, name), download=name), f" {formats.size(one.bytes)}")
              for name, one in sorted(export.files.items())]
    return join([whole, details(f"{len(export.files)} files, {formats.size(total)}", join(single))])


def archive_path(export_id: str) -> str:
    """Return the path of all files of an export as one tar archive."""
    return f"/exports/{quote(export_id)}/archive"


def file_path(export_id: str, name: str) -> str:
    """Return the path of one file of an export."""
    return f"/exports/{quote(export_id)}/files/{quote(name)}"


async def download(request: Request, sessions: BrowserSessions, export_id: str, name: str | None = None) -> Response:
    """Send a file of an export piece by piece, or without a name all files as a tar archive.

    The console reads it over REST with the session's key. A browser that is not signed in is sent to the sign-in page.
    """
    session = sessions.find(request.session["id"])
    if session is None:
        return RedirectResponse(f"{sign_in.PATH}?to=/runs")
    try:
        pieces = await asyncio.to_thread(_pieces, session, export_id, name)
    except Unauthenticated:
        return RedirectResponse(f"{sign_in.PATH}?to=/runs")
    except HoneError as error:
        return PlainTextResponse(error.detail or str(error), error.status or 503)
    return StreamingResponse(pieces, media_type="application/octet-stream", headers={
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name or f'{export_id}.tar')}"})


def _pieces(session: BrowserSession, export_id: str, name: str | None) -> Iterator[bytes]:
    """Return the pieces of a file once the gateway has sent the first one. Raises HoneError."""
    pieces = session.client.export_pieces(export_id, name)
    return chain([next(pieces, b"")], pieces)
