"""/runs/{id}: the overview of a run, its events, and its spec."""

from collections.abc import Sequence
from datetime import UTC, datetime

import yaml
from nicegui import ui
from starlette.requests import Request

from hone.client.judge_resources import JudgeSpending
from hone.client.resources import ENDED, Event, Run, Usage
from hone.spec.money import money
from services.console.pages.run_header import RunHeader
from services.console.view import PageView
from services.console.widgets import charts, expectations, formats, parts, tables
from services.console.widgets.charts import Chart, RunCurves
from services.console.widgets.markup import Markup, code, html, link, tag
from services.console.widgets.tables import RIGHT, Column

_EVENTS, _MANY_EVENTS = 12, 500
_TONES = {"failed": "bad", "alarm": "bad", "expired": "warn", "refused": "warn", "bad_rows": "warn",
          "bad_references": "warn", "references_unchecked": "warn",
          "truncated_samples": "warn", "few_samples": "warn", "reasoner_gap": "warn", "long_rows": "warn",
          "equal_pairs": "warn", "mostly_duplicates": "warn", "cancelled": "off", "succeeded": "good",
          "evaluated": "good", "whole_answers": "good", "desired": "wait", "created": "off", "step": "busy"}


async def show(view: PageView, request: Request) -> None:
    """Show the overview and refresh it: curves of all seeds, stage, staleness, gap, cost, newest events."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    overview = _OverviewPage(view, run)
    await overview.load()
    view.live(overview.load)


class _OverviewPage:
    """The overview of one run."""

    def __init__(self, view: PageView, run: Run) -> None:
        self._view, self._id = view, run.id
        self._header = RunHeader(view, run, "Overview")
        self._reason, self._progress, self._figures = (html(Markup("")) for _ in range(3))
        self._curves = RunCurves(view, run)
        self._legend, self._empty = html(Markup("")), html(Markup(""))
        self._grid = ui.element("div").classes("charts")
        self._charts: dict[str, Chart] = {}
        self._expected, self._judges, self._events = (html(Markup("")) for _ in range(3))

    async def load(self) -> None:
        """Read the run, its usage, events and metrics again and show the changes. Raises HoneError."""
        ask, hone = self._view.ask, self._view.hone
        run = await self._header.refresh()
        used = await ask(hone.usage, "run", None, None, self._id)
        events = await ask(hone.events, self._id, 0, _EVENTS, True)
        spending = await ask(hone.judge_spending, self._id)
        await self._curves.load(run, charts.first_look(run.metrics))
        self._reason.set_content(_reason(run))
        self._progress.set_content(_progress(run))
        self._figures.set_content(_figures(run, used.data))
        self._expected.set_content(expectations.section(run.metrics))
        self._judges.set_content(_judges(run, spending.data))
        self._events.set_content(_newest(run, events.data))
        self._draw()

    def _draw(self) -> None:
        self._legend.set_content(self._curves.legend())
        names = charts.first_look(self._curves.names())
        for name in names:
            if name in self._charts:
                self._charts[name].show(self._curves.lines(name))
                continue
            with self._grid:
                self._charts[name] = Chart(name, self._curves.lines(name))
        empty = parts.empty("No curves yet", "They begin with the first planned step.")
        self._empty.set_content(Markup("") if names else empty)


def _reason(run: Run) -> Markup:
    ended = run.state in ("failed", "cancelled") and run.reason
    lines = [("Warning", warning, "warning") for warning in run.warnings]
    lines += [(run.state.capitalize(), run.reason, run.state)] if ended and run.reason else []
    lines += [standing] if (standing := _standing(run)) else []
    return Markup("").join(tag("div", tag("strong", word), ": ", text, class_=f"banner {tone}")
                           for word, text, tone in lines)


def _standing(run: Run) -> tuple[str, str, str] | None:
    """Return why an open run stands still: a word, the reason, and the tone of both."""
    if run.state == "paused":
        return "Paused", run.reason or run.waiting_for or "Resume goes on with the next step.", "wait"
    if run.state == "queued":
        return "Queued", f"waits for {run.waiting_for or 'a driver that takes it up'}", "wait"
    return None


def _progress(run: Run) -> Markup:
    waits = f"waits for {run.waiting_for}" if run.waiting_for and run.state == "running" else ""
    return tag("div", parts.progress(run.step, run.steps, "steps"), tag("p", waits, class_="note"), class_="wide-bar")


def _figures(run: Run, used: Sequence[Usage]) -> Markup:
    metrics, amounts = run.metrics, used[0].amounts if used else {}
    held_out = [name for name in charts.first_look(metrics) if name.startswith("eval/")]
    bound, alarm = run.spec.get("max_staleness", 0), float(run.spec.get("gap_alarm_nats", 0.01))
    measured, where = ("gap/probe_mean", "on the probe, ") if bound else ("gap/mean", "")
    gap = metrics.get(measured)
    return parts.figures(
        parts.figure("Stage", _stage(run), _time(run)),
        parts.figure("Mean reward", formats.number(metrics.get("reward/mean")), "newest step"),
        *(parts.figure("Held-out accuracy", formats.number(metrics[name]), name) for name in held_out[:1]),
        parts.figure("Trainer-sampler gap", formats.number(gap, 2), f"nats a token, {where}alarm at {alarm:g}",
                     "warn" if gap is not None and gap > alarm else ""),
        parts.figure("Staleness", formats.number(metrics.get("staleness/mean")), f"versions, at most {bound}"),
        parts.figure("Cost", *_cost(run, amounts)))


def _stage(run: Run) -> str:
    if run.state in ENDED or run.state == "paused":
        return f"{run.state.capitalize()}, step {run.step}"
    if run.state == "queued":
        return "Queued"
    now = min(run.step + 1, run.steps)
    name = next((stage["name"] for stage in run.spec.get("stages", []) if now <= stage["until"]), "")
    return f"Step {now}, {name}" if name else f"Step {now}"


def _time(run: Run) -> str:
    if run.started_at is None:
        return "not started"
    took = ((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds()
    if run.ended_at is None and run.state == "running" and run.step:
        left = took / run.step * (run.steps - run.step)
        return f"of {run.steps}, for {formats.duration(took)}, about {formats.duration(left)} left"
    return f"of {run.steps}, in {formats.duration(took)}"


def _cost(run: Run, amounts: dict[str, float]) -> tuple[str, str]:
    """Return the cost of a run, in money if anything has a price or the run a budget, and its usage."""
    trainer = formats.duration(amounts.get("trainer_s"))
    if not run.cost and run.budget is None:
        return trainer, f"trainer time; {_used(amounts)}"
    budget = "" if run.budget is None else f"of a budget of {money(run.budget, run.currency)}; "
    return money(run.cost, run.currency), f"{budget}{trainer} of a trainer; {_used(amounts)}"


def _used(amounts: dict[str, float]) -> str:
    tokens = formats.count(amounts.get("completion_tokens", 0.0))
    trained = formats.count(amounts.get("trained_tokens", 0.0))
    graded = f"; {formats.duration(amounts['grading_s'])} of grading" if amounts.get("grading_s") else ""
    return f"{tokens} tokens sampled, {trained} trained{graded}"


def _judges(run: Run, found: Sequence[JudgeSpending]) -> Markup:
    """Return the usage of the run's judges; nothing where no judge was asked."""
    if not found:
        return Markup("")
    columns = [Column("Judge"), Column("Answers", RIGHT), Column("Tokens", RIGHT), Column("Cost", RIGHT)]
    return parts.section("Judges", tables.table(columns, [
        [tag("strong", one.judge), formats.count(one.answers), formats.count(one.tokens), money(one.cost, run.currency)]
        for one in found]), note="Usage of the judges of this run. A cached answer costs nothing.")


def _newest(run: Run, events: Sequence[Event]) -> Markup:
    more = tag("p", link("All events", f"/runs/{run.id}/events"))
    return parts.section("Newest events", _table(events), more)


def _table(events: Sequence[Event]) -> Markup:
    if not events:
        return parts.empty("No events", "The events of the run appear here, with reasons.")
    columns = [Column("When"), Column("Kind"), Column("Step", RIGHT), Column("What happened", "wide")]
    return tables.table(columns, [
        [parts.moment(event.created_at), parts.chip(event.kind, _TONES.get(event.kind, "off")),
         formats.ABSENT if event.step is None else event.step, event.message] for event in reversed(events)])


async def show_events(view: PageView, request: Request) -> None:
    """Show the newest events, the newest first."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    header, listed = RunHeader(view, run, "Events"), html(Markup(""))

    async def load() -> None:
        await header.refresh()
        found = await view.ask(view.hone.events, run.id, 0, _MANY_EVENTS, True)
        note = f"The newest {_MANY_EVENTS}." if len(found.data) == _MANY_EVENTS else ""
        listed.set_content(parts.section("Events", _table(found.data), note=note))

    await load()
    view.live(load)


async def show_spec(view: PageView, request: Request) -> None:
    """Show the resolved spec: the spec as it runs, with every default written out."""
    run = await view.ask(view.hone.run, request.path_params["run_id"])
    RunHeader(view, run, "Spec")
    html(parts.section("Resolved spec", code(yaml.safe_dump(run.spec, sort_keys=False, allow_unicode=True)),
                       note="The spec as it runs, with every default written out."))
