"""/graders/try: one or two graders grade one answer, a stored one or one that is written here, and store nothing."""

import asyncio
from collections.abc import Mapping
from typing import Any

from nicegui import ui
from nicegui.events import ValueChangeEventArguments
from starlette.requests import Request

from hone.client import HoneError
from hone.client.errors import NotFound, Refused, Unauthenticated
from hone.client.judge_resources import GraderTrial
from hone.client.resources import Trajectory, TrajectoryRow
from hone.spec.problems import Problem
from services.console.pages import graders
from services.console.view import PageView
from services.console.widgets import evidence, formats, parts, tables
from services.console.widgets.json_field import JsonField
from services.console.widgets.markup import Markup, html, join, mono, tag
from services.console.widgets.tables import RIGHT, Column

_OFFERED = 100
_OWN: Mapping[str, Any] = {"type": "environment"}
_BEGIN: Mapping[str, Any] = {
    "type": "string_check", "name": "equal", "operation": "eq", "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}"}


async def show(view: PageView, request: Request) -> None:
    """Show the form. The query parameters `run`, `group` and `index` choose a stored sample."""
    run, group, index = (request.query_params.get(name, "") for name in ("run", "group", "index"))
    runs = (await view.ask(view.hone.runs, _OFFERED)).data
    graders.head("Try graders", "An answer, graded by one or two graders. Nothing is stored.")
    page = _TrialPage(view, {one.id: f"{one.name} ({one.id})" for one in runs})
    if run:
        await page.choose(run, f"{group}/{index}")


def grader_of(spec: Mapping[str, Any], source: str, step: int) -> Mapping[str, Any]:
    """Return the grader that a run's resolved spec names for a sample of a source, at a step."""
    stage: Mapping[str, Any] = next((one for one in spec.get("stages") or [] if step <= one["until"]), {})
    task = stage.get("task") or spec.get("task") or {}
    sources = [*(task.get("mixture") or []), *((spec.get("eval") or {}).get("sources") or [])]
    own = next((one["grader"] for one in sources if one.get("name") == source and one.get("grader")), None)
    of_run = None if stage.get("task") else spec.get("grader")
    return own or stage.get("grader") or of_run or _OWN


def output_of(sample: Trajectory) -> str:
    """Return the text that graders read: the policy's last answer outside of forks, with what its prompt began."""
    spoken = [call for call in sample.calls if call.get("role", "policy") == "policy"] or sample.calls
    outside = [call for call in spoken if "." not in call.get("number", "")] or spoken
    return f"{outside[-1].get('begun', '')}{outside[-1]['text']}" if outside else ""


class _TrialPage:
    """The sample above, and the two graders below it."""

    def __init__(self, view: PageView, runs: dict[str, str]) -> None:
        self._view, self._runs, self._wanted = view, runs, ""
        with ui.element("section").classes("panel"):
            html(tag("h2", "Answer"))
            with ui.element("div").classes("filters picks"):
                self._run = ui.select(runs, label="Run", with_input=True, clearable=True,
                                      on_change=self._run_chosen).props("outlined dense").classes("pick")
                self._sample = ui.select([], label="Stored sample", with_input=True,
                                         on_change=self._sample_chosen).props("outlined dense").classes("pick")
            self._output = ui.textarea("Answer").props("outlined autogrow spellcheck=false")
            self._item = JsonField("Row of the task, as JSON", {"answer": ""})
        with ui.element("div").classes("side-by-side"):
            self._sides = [_GraderSide(view, "Grader A", _BEGIN), _GraderSide(view, "Grader B, or nothing", None)]
        with ui.element("div").classes("actions"):
            self._button = view.permit(ui.button("Grade", on_click=self._pressed, color=None).props(
                "unelevated no-caps").classes("primary"), "run")
        self._difference = html(Markup(""))
        with ui.element("div").classes("side-by-side"):
            for side in self._sides:
                side.place_result()

    async def choose(self, run: str, sample: str) -> None:
        """Choose a stored sample, of any run of the tenant. Raises HoneError."""
        if run not in self._runs:
            self._runs[run] = f"{(await self._view.ask(self._view.hone.run, run)).name} ({run})"
            self._run.set_options(self._runs)
        self._wanted = sample
        self._run.set_value(run)

    async def _run_chosen(self, event: ValueChangeEventArguments[Any]) -> None:
        await self._view.tried(lambda: self._offer(event.value))

    async def _sample_chosen(self, event: ValueChangeEventArguments[Any]) -> None:
        if event.value:
            await self._view.tried(lambda: self._fill(str(self._run.value), event.value))

    async def _offer(self, run: str | None) -> None:
        """Offer the first samples of a run, and the one that was asked for."""
        found = (await self._view.ask(self._view.hone.trajectories, run, _OFFERED)).data if run else []
        offered = {f"{one.group_id}/{one.index}": _named(one) for one in found}
        wanted, self._wanted = self._wanted, ""
        if wanted:
            offered.setdefault(wanted, wanted)
        self._sample.set_options(offered, value=wanted or None)

    async def _fill(self, run_id: str, place: str) -> None:
        """Fill the fields with a stored sample, and with the grader that its run names."""
        group, _, index = place.partition("/")
        if not (group.isdecimal() and index.isdecimal()):
            raise NotFound({"status": 404, "title": "Not found", "detail": f"There is no sample {place}."})
        sample = await self._view.ask(self._view.hone.trajectory, run_id, int(group), int(index))
        run = await self._view.ask(self._view.hone.run, run_id)
        self._output.set_value(output_of(sample))
        self._item.show(sample.item)
        self._sides[0].show(grader_of(run.spec, sample.source, sample.step))

    async def _pressed(self) -> None:
        self._button.disable()
        try:
            await self._view.tried(self._graded)
        finally:
            self._button.enable()

    async def _graded(self) -> None:
        item = {} if self._item.empty else self._item.read()
        given = [side.read() for side in self._sides]
        wrong = any(grader is None and not side.unused for grader, side in zip(given, self._sides, strict=True))
        if item is None or wrong:
            return
        asked = [(side, grader) for side, grader in zip(self._sides, given, strict=True) if grader is not None]
        self._difference.set_content(Markup(""))
        rewards = await asyncio.gather(*(self._on(side, grader, item) for side, grader in asked))
        scores = [one for one in rewards if one is not None]
        if len(scores) == len(self._sides):
            self._difference.set_content(_difference(*scores))

    async def _on(self, side: "_GraderSide", grader: Mapping[str, Any], item: Mapping[str, Any]) -> float | None:
        """Grade on one side. What is wrong in the row is shown at the row. Raises Refused for what has no editor."""
        try:
            return await side.grade(grader, str(self._output.value or ""), item)
        except Refused as error:
            self._item.refuse([one for one in error.problems if one.field.startswith("item")])
            if any(not one.field.startswith(("grader", "item")) for one in error.problems):
                raise
            return None


def _named(row: TrajectoryRow) -> str:
    return f"{row.group_id} / {row.index} · {formats.number(row.score)} · {row.preview[:40]}"


def _difference(first: float, second: float) -> Markup:
    return tag("p", "Grader B gives ", tag("strong", f"{second - first:+.3g}"), " against grader A.", class_="note")


class _GraderSide:
    """One grader, and what it gave."""

    def __init__(self, view: PageView, label: str, begin: Mapping[str, Any] | None) -> None:
        self._view, self._optional = view, begin is None
        with ui.element("article").classes("specimen"):
            self._grader = JsonField(label, begin)

    def place_result(self) -> None:
        """Put the place of the result on the page."""
        self._result = html(Markup("")).classes("trial")

    @property
    def unused(self) -> bool:
        """Whether this side is left empty, which the second one may be."""
        return self._optional and self._grader.empty

    def show(self, grader: Mapping[str, Any]) -> None:
        """Show a grader."""
        self._grader.show(grader)

    def read(self) -> dict[str, Any] | None:
        """Return the grader, or None after showing why there is none."""
        self._result.set_content(Markup(""))
        return None if self.unused else self._grader.read()

    async def grade(self, grader: Mapping[str, Any], output: str, item: Mapping[str, Any]) -> float | None:
        """Grade, and show the result or why there is none. Raises Refused for a problem of another field."""
        self._result.set_content(parts.chip("grading", "busy"))
        try:
            trial = await self._view.ask(self._view.hone.try_grader, grader, output, item)
        except Unauthenticated:
            raise
        except HoneError as error:
            self._refuse(error)
            return None
        self._result.set_content(shown(trial))
        return trial.reward

    def _refuse(self, error: HoneError) -> None:
        own: list[Problem] = [one for one in error.problems if one.field.startswith("grader")]
        self._grader.refuse(own)
        self._result.set_content(Markup("") if error.problems else tag(
            "div", error.detail or str(error), class_="banner failed"))
        if isinstance(error, Refused) and len(own) < len(error.problems):
            raise error


def shown(trial: GraderTrial) -> Markup:
    """Return all that a grader gave: score, components, reasons, the kind of its error, tokens, evidence."""
    seconds, used = trial.metadata.get("execution_time"), trial.model_grader_token_usage_per_model
    found = [("Status", parts.chip(trial.status or "unknown")), ("Error", trial.error and mono(trial.error)),
             ("Reasons", join(tag("div", one) for one in trial.reasons)),
             ("Extracted", trial.extracted and mono(trial.extracted)),
             ("Decided by", trial.decided_by), ("Judges used", evidence.tokens(used))]
    values = tables.table([Column("Component"), Column("Value", RIGHT)], [
        [name, formats.number(value)] for name, value in trial.sub_rewards.items()])
    return join([
        parts.figures(parts.figure("Score", formats.number(trial.reward), _score_note(trial)),
                      parts.figure("Time", formats.duration(seconds))),
        parts.facts((name, value) for name, value in found if value), values if trial.sub_rewards else "",
        evidence.entries(trial.evidence)])


def _score_note(trial: GraderTrial) -> str:
    return "no score: a sample would be masked" if trial.reward is None else ""
