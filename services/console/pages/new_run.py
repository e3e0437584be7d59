"""/runs/new: a spec is written or chosen, the gateway reads it meanwhile, and a button starts its run."""

import asyncio
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.resources import StartingSpec
from hone.resolution.brevity import brief
from hone.spec.files import as_text
from services.console.pages.preflight import SpecLook
from services.console.pages.run_start import RunStart
from services.console.pages.spec_editor import SpecEditor
from services.console.view import PageView
from services.console.widgets import parts, questions, spec_text
from services.console.widgets.markup import Markup, code, details, html, tag
from services.console.widgets.spec_text import Unreadable

_MOST = 200
_DATASET, _ENVIRONMENT = "dataset:", "environment:"


async def show(view: PageView, request: Request) -> None:
    """Show the editor with the draft, or with a copy of the spec of the run that the query parameter `run` names."""
    run_id = request.query_params.get("run")
    copied = await _copied(view, run_id) if run_id else None
    session = view.session
    if copied and session.draft in ("", session.begun):
        session.draft = session.begun = copied
    html(parts.heading("New run", "Begin with a preset, a run, or a spec of your own. The gateway checks it while you "
                       "write.", [("Runs", "/runs")]))
    page = _NewRunPage(view, await _choices(view))
    await page.open()
    if copied:
        ui.navigate.history.replace(request.url.path)  # a reload shows the draft, not the run's spec again
        if session.draft != copied:
            ui.timer(0, lambda: view.tried(lambda: page.offer(copied)), once=True)


async def _copied(view: PageView, run_id: str) -> str:
    """Return the spec of a run as a text: without defaults, and with a name of its own."""
    run = await view.ask(view.hone.run, run_id)
    spec = await asyncio.to_thread(brief, run.spec)
    return as_text({**spec, "name": copied_name(run.name)})


def copied_name(name: str) -> str:
    """Return the name of a copy: NAME copy, NAME copy 2, NAME copy 3."""
    head, _, number = name.rpartition(" copy ")
    if head and number.isdecimal():
        return f"{head} copy {int(number) + 1}"
    return f"{name} 2" if name.endswith(" copy") else f"{name} copy"


async def _choices(view: PageView) -> dict[str, dict[str, str]]:
    """Return the offers of the three selects: value -> words."""
    presets = await view.ask(view.hone.algorithms)
    models, runs = await view.ask(view.hone.models, _MOST), await view.ask(view.hone.runs, _MOST, state="succeeded")
    datasets = await view.ask(view.hone.datasets, _MOST)
    environments = await view.ask(view.hone.environments)
    return {
        "preset": {one.name: one.name for one in presets if not one.unmet},
        "base": {**{one.name: one.name for one in models.data},
                 **{run.id: f"end of {run.name} ({run.id})" for run in runs.data}},
        "task": {**{f"{_DATASET}{one.name}": f"dataset {one.name}" for one in datasets.data},
                 **{f"{_ENVIRONMENT}{one.name}": f"environment {one.name}" for one in environments}}}


class _NewRunPage:
    """The selects, the editor and the buttons. A select shows what the text says, and changes the text."""

    def __init__(self, view: PageView, choices: dict[str, dict[str, str]]) -> None:
        self._view = view
        with ui.element("div").classes("filters picks"):
            self._preset = self._select("Preset", choices["preset"], self._begin_with_preset)
            self._base = self._select("Model", choices["base"], self._set_base)
            self._task = self._select("Tasks", choices["task"], self._set_task)
        self._editor = SpecEditor(view, self._follow_text)
        with ui.element("div").classes("actions"):
            RunStart(view, self._editor)
            SpecLook(view, self._editor, self._show_report)
        html(tag("p", "Look at it first: the base answers a few tasks, and a report lists problems. In the editor, "
                 "Escape and then Tab leaves it. The draft stays until you sign out.", class_="note"))
        self._resolved, self._report = html(Markup("")), html(Markup(""))

    async def open(self) -> None:
        await self._editor.open()

    def _show_report(self, report: Markup) -> None:
        self._report.set_content(report)

    async def offer(self, copied: str) -> None:
        """Ask whether another text may replace the draft."""
        words = "Your draft is in the editor. If the copy replaces it, the editor's undo (Ctrl+Z) brings it back."
        if await questions.agreed("Replace your draft by the copy?", words, act="Replace my draft",
                                  leave="Keep my draft"):
            self._view.session.begun = copied
            await self._editor.replace(copied)

    def _select(self, label: str, options: dict[str, str], change: Any) -> ui.select:
        return ui.select(options, label=label, with_input=True,
                         on_change=lambda event: self._view.tried(lambda: change(event.value))).props(
            "outlined dense").classes("pick")

    def _follow_text(self) -> None:
        """Show in the selects what the text says, and the resolved spec of a text that has one."""
        said = named(self._editor.text)
        for select, name in ((self._preset, "preset"), (self._base, "base"), (self._task, "task")):
            select.set_value(said[name] if said[name] in select.options else None)
        checked = self._editor.checked
        self._resolved.set_content(details("The spec with every default", code(as_text(checked.spec)))
                                   if checked else Markup(""))

    async def _begin_with_preset(self, preset: str | None) -> None:
        said = named(self._editor.text)
        if preset is None or preset == said["preset"]:
            return
        if not self._untouched():
            words = "Your text is replaced; the editor's undo (Ctrl+Z) brings it back."
            if not await questions.agreed(f"Begin again with {preset}?", words, act="Replace my text"):
                self._follow_text()
                return
        await self._begin({**said, "preset": preset})

    async def _set_base(self, base: str | None) -> None:
        said = named(self._editor.text)
        if base is None or base == said["base"]:
            return
        if self._untouched():
            await self._begin({**said, "base": base})
        else:
            await self._editor.set_field("model.base", base)

    async def _set_task(self, task: str | None) -> None:
        said = named(self._editor.text)
        if task is None or task == said["task"]:
            return
        if self._untouched():
            await self._begin({**said, "task": task})
            return
        begun = await self._starting_spec({**said, "task": task})
        await self._editor.set_field("task", begun.spec["task"])
        if "grader" in begun.spec and not said["graded"]:
            await self._editor.set_field("grader", begun.spec["grader"])

    def _untouched(self) -> bool:
        """Return whether the text is as the selects left it. Then another choice writes all of it again."""
        return self._editor.text in (self._view.session.begun, "")

    async def _begin(self, said: dict[str, Any]) -> None:
        begun = await self._starting_spec(said)
        self._view.session.begun = begun.text
        await self._editor.replace(begun.text)

    async def _starting_spec(self, said: dict[str, Any]) -> StartingSpec:
        kind, _, source = (said["task"] or "").partition(":")
        return await self._view.ask(self._view.hone.starting_spec, said["preset"] or "grpo", said["base"] or "",
                                    **({kind: source} if source else {}))


def named(text: str) -> dict[str, Any]:
    """Return the preset, base and tasks in a text, as the selects name them; None where it is silent."""
    try:
        raw = spec_text.read(text)
    except Unreadable:
        raw = {}
    model, task, algorithm = (raw.get(name) for name in ("model", "task", "algorithm"))
    model, task = (one if isinstance(one, dict) else {} for one in (model, task))
    preset = algorithm.get("preset") if isinstance(algorithm, dict) else algorithm
    source = f"{_DATASET}{task['dataset']}" if "dataset" in task else f"{_ENVIRONMENT}{task.get('environment')}"
    return {"preset": preset, "base": model.get("base"), "task": source if task else None,
            "graded": "grader" in raw}
