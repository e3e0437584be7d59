"""/routes: names under which one of several models answers; what each route decided, and what it is worth."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui
from starlette.requests import Request

from hone.client.errors import Away, Conflict
from hone.client.routing_resources import AUTO, PREFIX, Decision, Route, RouteEvaluation
from services.console.pages import deletion, playground
from services.console.view import PageView
from services.console.widgets import charts, formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, mono, tag
from services.console.widgets.tables import RIGHT, Column

_MOST, _DECISIONS = 200, 50
_OBJECTIVES = {"weight": "Weight of success", "target": "Success that is enough", "max_cost": "Highest cost"}
_CHOOSERS = {"router": "The route", "random": "Mixed at random", "length": "By length of prompts",
             "oracle": "Who knows the outcomes"}


async def show(view: PageView, request: Request) -> None:
    """Show every route, and a form for a new one."""
    found = (await view.ask(view.hone.routes, _MOST)).data
    auto = await view.ask(view.hone.route, AUTO)
    html(parts.heading("Routes", f"Who asks {PREFIX}NAME gets the answer of the model that suits the prompt."))
    await _form(view)
    html(_routes([*found, *([auto] if auto.default else [])]))


def _routes(found: Sequence[Route]) -> Markup:
    columns = [Column("Route"), Column("Chosen by"), Column("Explored", RIGHT), Column("Candidates", "wide"),
               Column("Changed")]
    return tables.table(columns, [[
        link(f"{PREFIX}{one.name}", f"/routes/{one.name}", class_="strong"), chosen_by(one.objective),
        f"{one.exploration:.0%}", ", ".join(candidate.model for candidate in one.candidates) or "no model yet",
        "nobody has set it" if one.default else parts.moment(one.updated_at)] for one in found])


def chosen_by(objective: dict[str, float]) -> str:
    """Return an objective in words."""
    return ", ".join(f"{_OBJECTIVES.get(kind, kind).lower()} {value:g}" for kind, value in objective.items())


async def _form(view: PageView) -> None:
    offered = await playground.offered(view)

    async def send() -> None:
        given: dict[str, float] = {} if value.value is None else {str(kind.value): float(value.value)}
        name = (named.value or "").strip()
        made = await view.ask(view.hone.put_route, name, list(models.value or []), **given)
        ui.navigate.to(f"/routes/{made.name}")

    with ui.element("section").classes("panel"):
        html(tag("h2", "New route"))
        named = ui.input("Name").props("outlined dense")
        models = ui.select(offered, multiple=True, label="Candidates").props("outlined dense use-chips")
        with ui.element("div").classes("filters"):
            kind = ui.select(_OBJECTIVES, value="weight", label="Chosen by").props("outlined dense")
            value = ui.number("Value", value=0.5, min=0, step=0.05).props("outlined dense").classes("short")
        html(tag("p", "A candidate costs its parameters in millions. The command hone route set takes other costs.",
                 class_="note"))
        view.permit(ui.button("Make route", on_click=lambda: view.tried(send), color=None).props(
            "unelevated no-caps").classes("primary"), "run")


async def show_one(view: PageView, request: Request) -> None:
    """Show a route: its candidates, its curve of cost and quality, and its newest decisions."""
    after = request.query_params.get("after")
    route = await view.ask(view.hone.route, request.path_params["name"])
    decided = await view.ask(view.hone.decisions, route.name, _DECISIONS, after)
    note = f"Chosen by {chosen_by(route.objective)}; {route.exploration:.0%} of the answers are drawn at random."
    html(parts.heading(f"{PREFIX}{route.name}", note, trail=[("Routes", "/routes")]))
    if not route.default:
        deletion.button(view, f"the route {route.name}", "Its decisions and the feedback about its answers are "
                        "deleted as well. The models stay.", lambda: view.hone.delete_route(route.name), "/routes")
    try:
        found = await view.ask(view.hone.route_evaluation, route.name)
    except (Conflict, Away) as error:
        html(join([_candidates(route), parts.section("Cost and quality", parts.empty(
            "Not known yet", str(error), f"hone route evaluate {route.name} --dataset NAME"))]))
    else:
        html(_worth(found))
        _curves(found)
    html(_decisions(decided.data))
    html(parts.pager(f"/routes/{route.name}", "after", after, decided.next))


def _candidates(route: Route) -> Markup:
    return parts.section("Candidates", tables.table([Column("Model"), Column("Cost", RIGHT)], [
        [mono(one.model), formats.number(one.cost)] for one in route.candidates]))


def _worth(found: RouteEvaluation) -> Markup:
    columns = [Column("Model"), Column("Cost", RIGHT), Column("Prompts", RIGHT), Column("Success", RIGHT),
               Column("Predicted", RIGHT), Column("AUC", RIGHT), Column("Calibration error", RIGHT)]
    rows = [[mono(one.model), formats.number(one.cost), one.rows, f"{one.quality:.3f}", f"{one.predicted:.3f}",
             formats.ABSENT if one.auc is None else f"{one.auc:.3f}", f"{one.calibration_error:.3f}"]
            for one in found.candidates]
    halves = parts.figures(*(parts.figure(_CHOOSERS[kind], formats.ABSENT if value is None else f"{value:.3f}")
                             for kind, value in found.half.items()))
    note = (f"Over {found.prompts} prompts with an outcome of every candidate, each predicted from the rest. The most "
            f"expensive candidate alone has {found.largest:.3f}; the figures are the success at half its cost.")
    return join([parts.section("Candidates", tables.table(columns, rows)),
                 parts.section("Cost and quality", halves, note=note)])


def _curves(found: RouteEvaluation) -> None:
    words = "; ".join(f"{_CHOOSERS[kind]}: {value:.3f}" for kind, value in found.half.items() if value is not None)
    html(tag("span", f"Success at half the cost: {words}"), "div").classes("unseen")
    with ui.element("figure").classes("chart"):
        ui.echart(chart(found)).classes("curve").props('aria-hidden="true"')


def chart(found: RouteEvaluation) -> dict[str, Any]:
    """Return the curves as ECharts takes them: success by mean cost, as a share of the most expensive candidate's."""
    series = [{"name": _CHOOSERS[kind], "type": "scatter" if kind == "length" else "line", "symbolSize": 5,
               "data": [[charts.rounded(one.cost), charts.rounded(one.quality)] for one in points]}
              for kind, points in found.curves.items()]
    return {**charts.echart_options([]), "legend": {"textStyle": {"color": "#8a93a6"}, "top": 0}, "series": series,
            "grid": {"left": 4, "right": 14, "top": 34, "bottom": 4, "containLabel": True}}


def _decisions(found: Sequence[Decision]) -> Markup:
    if not found:
        return parts.section("Decisions", parts.empty(
            "No decisions yet", "Each answer is listed here with the reason why this model gave it."))
    columns = [Column("Time"), Column("Model", "name"), Column("Prompt", "wide"), Column("Why", "wide"),
               Column("Candidates", "check"), Column("Tokens", RIGHT), Column("Feedback", RIGHT)]
    return parts.section("Decisions", tables.table(columns, [[
        parts.moment(one.created_at), _answered(one), one.prompt[-120:], one.reason, _considered(one),
        one.completion_tokens or formats.ABSENT,
        formats.ABSENT if one.score is None else tag("span", f"{one.score:g}", title=one.comment or "")]
        for one in found]))


def _answered(decision: Decision) -> Markup:
    return join([mono(decision.model), parts.chip("explored", "off") if decision.explored else ""], " ")


def _considered(decision: Decision) -> Markup:
    return join([tag("span", f"{one.model} left out" if one.p is None else f"{one.model} {one.p:.2f}",
                     title=one.left_out or one.doubt or f"from {one.rows} prompts")
                 for one in decision.considered], ", ")
