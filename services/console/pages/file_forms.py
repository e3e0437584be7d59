"""A form that takes files from the person's browser: a name, the files, and a button that sends them."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from nicegui import ui
from nicegui.elements.upload_files import FileUpload
from nicegui.events import GenericEventArguments, MultiUploadEventArguments

from hone.client import HoneError
from services.console.view import PageView
from services.console.widgets import formats
from services.console.widgets.markup import Markup, html, tag

MOST = 64 * 2**20
"""Bytes of the files of one form. The command line sends larger ones, in parts."""

Send = Callable[[str, Path], Awaitable[None]]
"""Takes the name that the person gave and a directory with the files."""

_CHOOSE = "() => { const form = getElement(%d).$refs.qRef; form.reset(); form.pickFiles(); }"
_CHOSEN = "(files) => emit(files.map((file) => [file.name, file.size]))"


class FileForm:
    """The fields of one form. `options` is the place for more fields."""

    def __init__(self, view: PageView, title: str, note: str, send: Send, many: bool = False) -> None:
        self._view, self._send, self._chosen = view, send, 0
        words = "Choose files" if many else "Choose a file"
        with ui.element("section").classes("panel"):
            html(tag("h2", title))
            html(tag("p", note, class_="note"))
            with ui.element("div").classes("filters"):
                self._name = ui.input("Name").props("outlined dense maxlength=100").classes("search")
                choose = view.permit(ui.button(words, color=None).props("outline no-caps").classes("plain"), "run")
                self._button = view.permit(ui.button("Upload", on_click=lambda: view.tried(self._begin), color=None)
                                           .props("unelevated no-caps").classes("primary"), "run")
            self.options = ui.element("div")
            self._said = html(Markup("")).props("role=status")
            self._files = ui.upload(multiple=many, max_total_size=MOST, on_multi_upload=self._received,
                                    on_rejected=self._refuse).classes("unseen").props("inert")
        self._files.on("added", self._show_chosen, js_handler=_CHOSEN)
        # The browser lets a page open the choice of files only while it handles the press itself.
        choose.on("click", js_handler=_CHOOSE % self._files.id)

    def _show_chosen(self, event: GenericEventArguments) -> None:
        self._chosen = len(event.args)
        listed = ", ".join(f"{name} ({formats.size(size)})" for name, size in event.args)
        self._said.set_content(tag("p", listed, class_="note"))

    def _refuse(self) -> None:
        self._said.set_content(tag("p", f"At most {formats.size(MOST)} from a browser: the command line sends larger "
                                   "files in parts.", class_="banner warning"))

    async def _begin(self) -> None:
        name = str(self._name.value or "").strip()
        missing = "a name" if not name else "the files to send" if not self._chosen else ""
        if missing:
            raise HoneError({"title": "Incomplete", "detail": f"Give {missing} first."})
        self._button.disable()
        self._said.set_content(tag("p", "The files are sent and checked …", class_="banner busy"))
        self._files.run_method("upload")

    async def _received(self, event: MultiUploadEventArguments) -> None:
        await self._view.tried(partial(self._store, event.files))

    async def _store(self, files: Sequence[FileUpload]) -> None:
        try:
            with TemporaryDirectory() as directory:
                for file in files:
                    await file.save(Path(directory) / Path(file.name).name)
                await self._send(str(self._name.value).strip(), Path(directory))
        finally:
            self._files.reset()
            self._chosen = 0
            self._said.set_content(Markup(""))
            self._button.enable()
