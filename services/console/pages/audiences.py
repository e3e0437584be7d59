"""/audiences: simulators of users, how far each is off; of one its rules, its errors, and how a group reacts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.audience_resources import AudienceFit, MinedPolicies
from services.console.pages import deletion, packages, playground
from services.console.pages.reactions import ReactionForm
from services.console.view import PageView
from services.console.widgets import agreement, formats, parts, tables
from services.console.widgets.agreement import PREDICTIONS
from services.console.widgets.markup import Markup, details, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

_MOST, _DATASETS, _RULES, _PAIRS = 100, 200, 12, 10
_TONES = {"waiting": "off", "taken": "busy", "done": "good", "failed": "bad"}
_SHOWN = ("base_rate", "raw_reasoner", "raw_model", "reasoned", "fitted", "left_out")
"""Errors of the list, the plainer predictions first."""
_NOTE = ("Mean absolute error on merchants that were left out of the fit, in percentage points. The first three rows "
         "are baselines. The fusion's weights come from the other merchants.")


async def show(view: PageView, request: Request) -> None:
    """Show every fit with its errors, and a form for a new one; keep the list current."""
    after = request.query_params.get("after")
    html(parts.heading("Audiences", "How a group of users reacts to a merchant's strategy: simulators made of logs."))
    packages.tabs("Audiences")
    await _form(view)
    content = html(Markup(""))

    async def load() -> None:
        found = await view.ask(view.hone.audience_fits, _MOST, after)
        content.set_content(join([fits(found.data), parts.pager("/audiences", "after", after, found.next)]))

    await load()
    view.live(load)


async def _form(view: PageView) -> None:
    known = (await view.ask(view.hone.datasets, _DATASETS)).data
    datasets = [one.name for one in known if "merchant_id" in one.columns]
    judges = {one.name: f"{one.name} (judge)" for one in (await view.ask(view.hone.judges, _DATASETS)).data}
    models = await playground.offered(view)

    async def send() -> None:
        named = [one.strip() for one in (drivers.value or "").split(",") if one.strip()]
        made = await view.ask(view.hone.fit_audience, str(dataset.value or ""), {
            "drivers": named, "personas": int(personas.value or 0), "pairs": _PAIRS if adds.value else 0,
            "worded": bool(adds.value)}, {"judge": asked.value} if asked.value else None)
        ui.navigate.to(f"/audiences/{made.id}")

    with ui.element("section").classes("panel"):
        html(tag("h2", "Make a simulator"))
        html(tag("p", "From rows of behaviour. Drivers are numbers with a logistic model, which extrapolates beyond "
                 "the strategies of the logs; rules stay at the rate of their last leaf.", class_="note"))
        with ui.element("div").classes("filters"):
            dataset = ui.select(datasets, label="Dataset").props("outlined dense").classes("search")
            asked = ui.select({"": "Nobody", **judges, **models}, value="", label="Who reasons").props(
                "outlined dense").classes("search")
            drivers = ui.input("Drivers", placeholder="strategy.discount, user.loyalty").props(
                "outlined dense").classes("search")
            personas = ui.number("Personas", value=64, min=1, max=1000, precision=0).props(
                "outlined dense").classes("short")
            adds = ui.checkbox("It proposes conditions and writes the rules' sentences")
        with ui.element("div").classes("actions"):
            view.permit(ui.button("Make simulator", on_click=lambda: view.tried(send), color=None).props(
                "unelevated no-caps").classes("primary"), "run")


def fits(found: Sequence[AudienceFit]) -> Markup:
    """Return the list of fits with the errors of each."""
    if not found:
        return parts.empty("No audiences yet", "A simulator is made of a dataset with rows of behaviour.",
                           "hone audience fit logs --judge my-model")
    columns = [Column("Simulator"), Column("State"), *(Column(PREDICTIONS[name].title, RIGHT) for name in _SHOWN),
               Column("Made")]
    return parts.section("Simulators", tables.table(columns, [[
        join([link(one.dataset, f"/audiences/{one.id}", class_="strong"), tag("div", one.id, class_="faint")]),
        parts.chip(one.state, _TONES[one.state]), *_errors(one.report.get("errors", {})), parts.moment(one.created_at)]
        for one in found]), note=_NOTE)


def _errors(errors: Mapping[str, Mapping[str, float]]) -> list[object]:
    least = min((errors[name]["mae"] for name in _SHOWN if name in errors), default=None)
    return [formats.ABSENT if name not in errors else tag(
        "span", f"{100 * errors[name]['mae']:.1f}", class_="best" if errors[name]["mae"] == least else None)
        for name in _SHOWN]


async def show_one(view: PageView, request: Request) -> None:
    """Show one fit: its errors, a form that simulates a strategy, calibration, and the rules that it found."""
    fit = await view.ask(view.hone.audience_fit, request.path_params["fit_id"])
    with ui.element("div").classes("run-head"):
        html(parts.heading(join([fit.dataset, " ", parts.chip(fit.state, _TONES[fit.state])]),
                           join([mono(fit.id), f", {_who(fit)} reasons"]), [("Audiences", "/audiences")]))
        deletion.button(view, f"the simulator {fit.id}", "Its rules and all that it said of groups go with it.",
                        partial(view.hone.delete_audience_fit, fit.id), "/audiences")
    if fit.state != "done":
        _wait(view, fit)
        return
    report = fit.report
    html(_figures(report))
    html(_written(fit))
    for warning in report.get("warnings", []):
        html(tag("div", warning, class_="banner warning"))
    ReactionForm(view, fit)
    merchants = (await view.ask(view.hone.audience_merchants, fit.id, 500)).data
    html(join([agreement.errors(report.get("errors", {})), agreement.section(report["steps"], merchants)]))
    html(rules(await view.ask(view.hone.audience_policies, fit.id)))


def _who(fit: AudienceFit) -> str:
    if fit.reasoner is None:
        return "nobody"
    return str(fit.reasoner.get("judge") or "a formula")


def _wait(view: PageView, fit: AudienceFit) -> None:
    words = {"failed": f"The fit failed: {fit.reason}", "taken": "A simulation service is at work."}
    said = words.get(fit.state, "The next simulation service that is free takes it.")
    again = f" Last time: {fit.reason}" if fit.reason and fit.state != "failed" else ""
    html(tag("div", said + again, class_=f"banner {'failed' if fit.state == 'failed' else 'busy'}"))

    async def look() -> None:
        if (await view.ask(view.hone.audience_fit, fit.id)).state != fit.state:
            ui.navigate.reload()

    if not fit.ended:
        view.live(look)


def _figures(report: Mapping[str, Any]) -> Markup:
    weights = report.get("weights")
    shares = ", ".join(f"{weight:.0%}" for weight in weights) if weights else formats.ABSENT
    return parts.figures(
        parts.figure("Exposures", formats.count(report["rows"]), f"of {report['training_merchants']} merchants fitted "
                     f"and {report['calibration_merchants']} left out"),
        parts.figure("Rules", formats.count(report["policies"]), "that carry over to other merchants"),
        parts.figure("Base rate", ", ".join(f"{one:.1%}" for one in report["base_rates"]), ", ".join(report["steps"])),
        parts.figure("Reasoner's weight", shares, "in the fusion; the fitted model has the rest"))


def _written(fit: AudienceFit) -> Markup:
    """Return the reasoner's part in a fit, and its usage; nothing where no judge was asked."""
    shown = list[Markup]()
    if proposed := fit.report.get("hypotheses"):
        shown.append(parts.figure("Conditions it proposed", f"{proposed['kept']} of {proposed['proposed']} kept",
                                  _refused(proposed)))
    if sentences := fit.report.get("sentences"):
        shown.append(parts.figure("Sentences it wrote", str(sentences["written"]), _refused(sentences)))
    if fit.spent is not None:
        shown.append(parts.figure("The reasoner used", f"{formats.count(fit.spent.tokens)} tokens",
                                  f"{formats.count(fit.spent.answers)} answers, simulations included; "
                                  f"cost {formats.number(fit.spent.cost)}"))
    return parts.figures(*shown) if shown else Markup("")


def _refused(report: Mapping[str, Any]) -> Markup:
    return tag("span", f"{report['refused']} could not be used", title="; ".join(report["complaints"]))


def rules(found: MinedPolicies) -> Markup:
    """Return the mined rules in words, each with its rate beside that of the others."""
    if not found.data:
        return parts.section("Rules", parts.empty("No rules", "None had enough support and carried over."))
    columns = [Column("Rule", "wide"), Column("Step"), Column("Others → rate"), Column("", RIGHT),
               Column("Exposures", RIGHT), Column("Merchants", RIGHT)]
    note = ("Mined of the logs: users for whom the condition holds, against all other users. The reasoner reads the "
            "rules that hold for a user, and so does the fitted model. A rule says nothing about strategies that "
            "nobody tried.")
    rows = [_rule(one.text, one.record) for one in found.data]
    more = details(f"{len(rows) - _RULES} weaker rules", tables.table(columns, rows[_RULES:]))
    return parts.section("Rules", tables.table(columns, rows[:_RULES]), more if len(rows) > _RULES else "", note=note)


def _rule(text: str, record: Mapping[str, Any]) -> list[object]:
    base, rate = float(record["base_rate"]), float(record["rate"])
    said = record.get("words") or (text.split(",", 1)[0] if record["condition"] else text)
    return [tag("span", said, title=text), record["step"], agreement.dumbbell(base, rate),
            f"{base:.0%} → {rate:.0%}", formats.count(record["support"]), formats.count(record["merchants"])]
