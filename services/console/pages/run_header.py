"""The head of every page of a run: its name and state, the actions pause, resume and cancel, links to its pages."""

from collections.abc import Callable
from functools import partial

from nicegui import ui

from hone.client.resources import ENDED, Run
from services.console.pages import deletion
from services.console.view import PageView
from services.console.widgets import forms, parts, questions
from services.console.widgets.markup import Markup, html, join, link, mono, tag

PAGES = {"Overview": "", "Metrics": "/metrics", "Samples": "/samples", "Versions": "/versions", "Events": "/events",
         "Spec": "/spec", "Matrix": "/matrix", "Noise": "/noise", "Memory": "/memory", "Curation": "/curation"}
"""Title -> end of the path."""


class RunHeader:
    """The head of one page of a run."""

    def __init__(self, view: PageView, run: Run, here: str) -> None:
        self._view, self._run_id = view, run.id
        ui.page_title(f"{run.name} · {here} · Hone")
        with ui.element("div").classes("run-head"):
            self._title = html(Markup(""))
            with ui.element("div").classes("actions"):
                self._pause = self._button("Pause", lambda: self._set_desired(view.hone.pause))
                self._resume = self._button("Resume", lambda: self._set_desired(view.hone.resume))
                html(link("Compare", f"/runs/compare?run={run.id}", class_="button small"))
                self._button("Clone", lambda: ui.navigate.to(f"/runs/new?run={run.id}"))
                self._budget = view.permit(self._button("Budget", self._ask_budget), "admin")
                self._cancel = self._button("Cancel", self._confirm_cancel).classes("grave")
                self._delete = self._button("Delete", self._confirm_delete).classes("grave")
        html(tag("nav", *(_tab(run.id, name, end, here) for name, end in PAGES.items()), class_="tabs",
                 aria_label="Pages of this run"))
        self._add_keys()
        self.show(run)

    def show(self, run: Run) -> None:
        """Show the state of the run, and the actions that are possible in it."""
        self.run = run
        self._title.set_content(_title(run))
        is_open = run.state not in ENDED and run.desired != "cancel"
        self._pause.set_visibility(is_open and run.desired == "run")
        self._resume.set_visibility(is_open and run.desired == "pause")
        self._cancel.set_visibility(is_open)
        self._budget.set_visibility(is_open)
        self._delete.set_visibility(run.state != "deleting")

    async def refresh(self) -> Run:
        """Read the run again and show it. Raises HoneError."""
        self.show(await self._view.ask(self._view.hone.run, self._run_id))
        return self.run

    def _button(self, text: str, action: Callable[[], object]) -> ui.button:
        return self._view.permit(
            ui.button(text, on_click=action, color=None).props("outline no-caps").classes("plain"), "run")

    def _add_keys(self) -> None:
        for key, (name, end) in zip("1234567890", PAGES.items(), strict=True):
            self._view.shortcuts.add(key, f"This run: {name}", partial(ui.navigate.to, f"/runs/{self._run_id}{end}"))

    async def _set_desired(self, call: Callable[[str], Run]) -> None:
        async def change() -> None:
            self.show(await self._view.ask(call, self._run_id))

        await self._view.tried(change)

    async def _ask_budget(self) -> None:
        async def change() -> None:
            run = self.run
            given = await forms.changed(
                f"Budget of the run {run.name}", "When the run has cost this much, it pauses until the budget is "
                "raised. An empty field means no budget.", {"budget": (f"Money, {run.currency}", run.budget)},
                act="Set budget")
            if given:
                budget = given["budget"]
                self.show(await self._view.ask(self._view.hone.set_budget, run.id, budget if isinstance(
                    budget, int | float) else None))

        await self._view.tried(change)

    async def _confirm_delete(self) -> None:
        words = ("Its samples, metrics, events, versions and exports go, and cannot be brought back. Its usage stays."
                 + ("" if self.run.state in ENDED else " It is open, and is cancelled first."))

        async def delete() -> None:
            if await deletion.asked(self._view, f"the run {self.run.name}", words, partial(
                    self._view.hone.delete_run, self._run_id, force=True)):
                ui.navigate.to("/runs")

        await self._view.tried(delete)

    async def _confirm_cancel(self) -> None:
        words = "The run ends for good after its present step. Its versions stay."
        if await questions.agreed(f"Cancel the run {self.run.name}?", words, act="Cancel the run",
                                  leave="Keep it running"):
            await self._set_desired(self._view.hone.cancel)


def _title(run: Run) -> Markup:
    seed = "" if run.seed is None else f"seed {run.seed}"
    words = [part for part in (run.algorithm, f"from {run.base}" if run.base else "", seed) if part]
    trail = tag("nav", link("Runs", "/runs"), class_="trail", aria_label="Breadcrumb")
    return tag("div", trail, tag("h1", join([run.name, parts.run_state(run)], " ")),
               tag("p", join([" · ".join(words), mono(run.id)], " · "), class_="lead"), class_="heading")


def _tab(run_id: str, name: str, end: str, here: str) -> Markup:
    return link(name, f"/runs/{run_id}{end}", aria_current="page" if name == here else None)
