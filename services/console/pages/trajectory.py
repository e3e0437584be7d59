"""/runs/{id}/samples/{group}/{index}: one whole sample: calls with coloured tokens, steps, rewards, task."""

import json
from functools import partial
from typing import Any, get_args
from urllib.parse import urlencode

from nicegui import ui
from nicegui.events import ValueChangeEventArguments
from starlette.requests import Request

from hone.client.errors import NotFound
from hone.client.resources import Grade, Run, Trajectory, TrajectoryTokens
from services.console.pages.samples import path
from services.console.view import PageView
from services.console.widgets import evidence, formats, parts, tables, tokens, transcript
from services.console.widgets.markup import Markup, code, details, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column
from services.console.widgets.tokens import Scheme, TokenTable
from services.console.widgets.transcript import ShownCall

_ALL_ROLES = "every role"


async def show(view: PageView, request: Request) -> None:
    """Show one sample."""
    run_id, group, index = (request.path_params[name] for name in ("run_id", "group_id", "index"))
    if not (group.isdecimal() and index.isdecimal()):
        raise NotFound({"status": 404, "title": "Not found", "detail": f"There is no sample {group}/{index}."})
    run = await view.ask(view.hone.run, run_id)
    sample = await view.ask(view.hone.trajectory, run_id, int(group), int(index))
    try:
        texts = await view.ask(view.hone.trajectory_tokens, run_id, int(group), int(index))
    except NotFound as absent:
        texts = TrajectoryTokens(calls=[], advantage_note=str(absent))
    _add_keys(view, run, sample)
    _SamplePage(view, run, sample, texts)


def _add_keys(view: PageView, run: Run, sample: Trajectory) -> None:
    for key, by, meaning in (("j", 1, "Next sample of the group"), ("k", -1, "Previous sample of the group")):
        if 0 <= sample.index + by <= sample.last_index:
            to = path(run.id, sample.group_id, sample.index + by)
            view.shortcuts.add(key, meaning, partial(ui.navigate.to, to))


class _SamplePage:
    """One sample, its calls coloured and filtered as the person chooses."""

    def __init__(self, view: PageView, run: Run, sample: Trajectory, texts: TrajectoryTokens) -> None:
        self._sample, self._texts = sample, texts
        self._shown_calls = transcript.calls(sample, texts)
        self._tables = [TokenTable(call.call["index"], call.tokens) for call in self._shown_calls]
        self._scheme: Scheme = "log-prob"
        self._search, self._role = "", _ALL_ROLES
        ui.page_title(f"Sample {sample.group_id}/{sample.index} · Hone")
        html(_heading(run, sample))
        html(_summary(sample, texts))
        with ui.element("div").classes("viewer"):
            with ui.element("div").classes("calls"):
                self._controls(view)
                self._legend, self._calls = html(Markup("")), ui.element("div").classes("listed")
                html(_evidence(sample))
            with ui.element("aside"):
                html(_rewards(run, sample))
                html(_task(sample))
        self._draw()

    def _controls(self, view: PageView) -> None:
        with ui.element("div").classes("filters"):
            search = ui.input("Search in calls and steps", on_change=self._searched).props(
                "outlined dense clearable debounce=150").classes("search")
            has_teacher = any(map(transcript.teachers, self._sample.calls))
            schemes = [one for one in get_args(Scheme) if has_teacher or one != "teacher"]
            ui.select(schemes, value=self._scheme, label="Colour", on_change=self._coloured).props(
                "outlined dense")
            roles = sorted({f"{call['role']}: {call['kind']}" for call in self._sample.calls})
            if len(roles) > 1:
                ui.select([_ALL_ROLES, *roles], value=_ALL_ROLES, label="Calls", on_change=self._filtered).props(
                    "outlined dense")
        view.shortcuts.add("/", "Search in this sample", lambda: search.run_method("focus"))

    def _searched(self, event: ValueChangeEventArguments[Any]) -> None:
        self._search = event.value or ""
        self._draw()

    def _coloured(self, event: ValueChangeEventArguments[Any]) -> None:
        self._scheme = event.value
        self._draw()

    def _filtered(self, event: ValueChangeEventArguments[Any]) -> None:
        self._role = event.value
        self._draw()

    def _draw(self) -> None:
        shown = [(call, table) for call, table in zip(self._shown_calls, self._tables, strict=True)
                 if self._role in (_ALL_ROLES, f"{call.call['role']}: {call.call['kind']}") and call.fits(self._search)]
        self._legend.set_content(tokens.legend(self._scheme, self._texts.advantage_note))
        self._calls.clear()
        with self._calls:
            for call, table in shown:
                self._draw_call(call, table)
            if not shown:
                html(parts.empty("No call fits", "Try another search text or another role."))

    def _draw_call(self, call: ShownCall, table: TokenTable) -> None:
        with ui.element("article").classes("call"):
            html(call.answer(self._scheme, self._search))
            table.draw()
            html(call.outcome())


def _heading(run: Run, sample: Trajectory) -> Markup:
    trail = [("Runs", "/runs"), (run.name, f"/runs/{run.id}"), ("Samples", f"/runs/{run.id}/samples")]
    back = link("← previous", path(run.id, sample.group_id, sample.index - 1)) if sample.index else ""
    last = sample.index >= sample.last_index
    on = "" if last else link("next →", path(run.id, sample.group_id, sample.index + 1))
    title = join([f"Sample {sample.group_id} / {sample.index}", parts.chip(sample.status)], " ")
    return tag("div", parts.heading(title, trail=trail), tag("div", back, on, class_="pager"), class_="run-head")


def _summary(sample: Trajectory, texts: TrajectoryTokens) -> Markup:
    outcome = "masked: a fault of the service" if sample.score is None else f"{sample.harness}, ended {sample.ended}"
    return parts.figures(
        parts.figure("Score", formats.number(sample.score), outcome),
        parts.figure("Advantage", _advantage(texts), texts.advantage_note),
        parts.figure("Purpose", sample.purpose, f"step {sample.step}, request {sample.request_no}"),
        parts.figure("Calls", len(sample.calls), "1 step" if len(sample.steps) == 1 else f"{len(sample.steps)} steps"),
        parts.figure("Tokens", formats.count(sample.completion_tokens), f"after a prompt of {sample.prompt_tokens}"))


def _advantage(texts: TrajectoryTokens) -> str:
    """Return the advantage of a sample's tokens: one number, or the smallest and the largest."""
    found = [one for call in texts.calls for one in call.advantages if one is not None]
    if not found:
        return formats.ABSENT
    return f"{found[0]:+.3f}" if texts.advantage is not None else f"{min(found):+.2f} to {max(found):+.2f}"


def _rewards(run: Run, sample: Trajectory) -> Markup:
    columns = [Column("Component"), Column("Status"), Column("Value", RIGHT)]
    rows = [[_component(one), parts.chip(one.status), formats.number(one.value)]
            for one in sample.grades if one.level == "trajectory" or one.regrade_no]
    shown = tables.table(columns, rows) if rows else parts.empty("No grades", "This sample was not graded.")
    extracted = dict.fromkeys(one.extracted for one in sample.grades if one.extracted)
    answers = [tag("p", "Extracted: ", mono(one)) for one in extracted]
    wanted = urlencode({"run": run.id, "group": sample.group_id, "index": sample.index})
    return parts.section("Rewards", shown, *answers, tag("p", link("Try graders on it", f"/graders/try?{wanted}")))


def _component(grade: Grade) -> Markup:
    """Return a grade's name, and below it all that its row has beside status and value."""
    said = [_origin(grade), evidence.tokens(grade.tokens), *grade.reasons]
    return join([
        grade.component or "whole", tag("div", mono(grade.error), class_="note") if grade.error else "",
        *(tag("div", one, class_="note") for one in said if one),
        tag("div", link("evidence", f"#evidence-{grade.id}"), class_="note") if grade.evidence else ""])


def _evidence(sample: Trajectory) -> Markup:
    """Return the evidence of the sample's grades, grade by grade; nothing where no judge or program was asked."""
    found = [tag("div", tag("h3", f"{one.component or 'whole'}: {_origin(one)}"), evidence.entries(one.evidence),
                 id=f"evidence-{one.id}") for one in sample.grades if one.evidence]
    return parts.section("Evidence of grades", *found, note="Questions to judges with their answers, and the output "
                         "of programs.") if found else Markup("")


def _origin(grade: Grade) -> str:
    """Return the subject of a grade, who decided it, its cost, and whether it came later. Calls show their own."""
    where = f"{grade.level} {grade.place}" if grade.place else ""
    cost = f"{formats.number(grade.cost_ms)} ms" if grade.cost_ms else ""
    return ", ".join(filter(None, [where, grade.decided_by, cost, "graded again" if grade.regrade_no else ""]))


def _task(sample: Trajectory) -> Markup:
    asked = str(sample.item.get("prompt") or "")
    return parts.section(
        "Task", code(asked) if asked else "",
        tag("p", "Answer: ", mono(sample.item["answer"])) if "answer" in sample.item else "",
        details("Item that graders see", code(json.dumps(sample.item, indent=2, ensure_ascii=False))),
        details("Fields that recreate the task", code(json.dumps(sample.task, indent=2, ensure_ascii=False))),
        tag("p", "Content hash ", mono(formats.short(sample.task_hash), sample.task_hash), class_="note"))
