"""What every page of a run begins with: its name and state, pause, resume and cancel, and the run's other pages."""

from collections.abc import Callable
from functools import partial

from nicegui import ui

from hone.client.resources import ENDED, Run
from services.console import parts
from services.console.markup import Markup, join, link, tag
from services.console.runs import state_of
from services.console.view import View, html

PAGES = {"Overview": "", "Metrics": "/metrics", "Samples": "/samples", "Versions": "/versions", "Events": "/events",
         "Spec": "/spec"}
"""Title -> end of the path."""


class RunHeader:
    """The beginning of a run's page; `show` says what has changed."""

    def __init__(self, view: View, run: Run, here: str) -> None:
        self._view, self._run_id = view, run.id
        ui.page_title(f"{run.name} · {here} · Hone")
        with ui.element("div").classes("run-head"):
            self._title = html(Markup(""))
            with ui.element("div").classes("actions"):
                self._pause = self._button("Pause", lambda: self._want(view.hone.pause))
                self._resume = self._button("Resume", lambda: self._want(view.hone.resume))
                self._cancel = self._button("Cancel", self._ask_first)
        html(tag("nav", *(_tab(run.id, name, end, here) for name, end in PAGES.items()), class_="tabs",
                 aria_label="Pages of this run"))
        self._add_keys()
        self.show(run)

    def show(self, run: Run) -> None:
        """Show the state, and the actions that fit it."""
        self.run = run
        self._title.set_content(_title(run))
        is_open = run.state not in ENDED and run.desired != "cancel"
        self._pause.set_visibility(is_open and run.desired == "run")
        self._resume.set_visibility(is_open and run.desired == "pause")
        self._cancel.set_visibility(is_open)

    async def refresh(self) -> Run:
        """Look at the run again. Raises HoneError."""
        self.show(await self._view.ask(self._view.hone.run, self._run_id))
        return self.run

    def _button(self, text: str, action: Callable[[], object]) -> ui.button:
        return ui.button(text, on_click=action, color=None).props("outline no-caps").classes("plain")

    def _add_keys(self) -> None:
        for key, (name, end) in zip("123456", PAGES.items(), strict=True):
            self._view.shortcuts.add(key, f"This run: {name}", partial(ui.navigate.to, f"/runs/{self._run_id}{end}"))

    async def _want(self, wish: Callable[[str], Run]) -> None:
        async def change() -> None:
            self.show(await self._view.ask(wish, self._run_id))

        await self._view.tried(change)

    async def _ask_first(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("dialog"):
            html(tag("h2", "Cancel this run?"))
            html(tag("p", "It ends for good after the present step. Its versions stay."))
            with ui.element("div").classes("actions"):
                ui.button("Keep it running", on_click=lambda: dialog.submit(False), color=None).props(
                    "outline no-caps autofocus").classes("plain")
                ui.button("Cancel the run", on_click=lambda: dialog.submit(True), color=None).props(
                    "unelevated no-caps").classes("danger")
        if await dialog:
            await self._want(self._view.hone.cancel)
        dialog.delete()


def _title(run: Run) -> Markup:
    seed = "" if run.seed is None else f"seed {run.seed}"
    words = [part for part in (run.algorithm, f"from {run.base}" if run.base else "", seed) if part]
    trail = tag("nav", link("Runs", "/runs"), class_="trail", aria_label="Breadcrumb")
    return tag("div", trail, tag("h1", join([run.name, state_of(run)], " ")),
               tag("p", join([" · ".join(words), parts.mono(run.id)], " · "), class_="lead"), class_="heading")


def _tab(run_id: str, name: str, end: str, here: str) -> Markup:
    return link(name, f"/runs/{run_id}{end}", aria_current="page" if name == here else None)
