"""/services: the health of every service, and the models in each engine."""

from collections.abc import Sequence

from starlette.requests import Request

from hone.client.resources import Engine, EngineModel, Health, ServiceHealth
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, tag
from services.console.widgets.tables import RIGHT, Column

_REFRESH_S = 5.0
_SILENT_S = 30.0


async def show(view: PageView, request: Request) -> None:
    """Show services and engines, and refresh them."""
    html(parts.heading("Services", "The gateway checks every service every five seconds."))
    state, engines = html(Markup("")), html(Markup(""))

    async def load() -> None:
        state.set_content(_health(await view.ask(view.hone.health)))
        engines.set_content(_engines(await view.ask(view.hone.engines)))

    await load()
    view.live(load, _REFRESH_S)


def _health(health: Health) -> Markup:
    wrong = [one.name for one in health.services if not one.ok]
    banner = tag("div", "Everything answers." if health.ok else f"Not well: {', '.join(wrong)}.",
                 class_="banner good" if health.ok else "banner failed")
    return banner + parts.section("Services", tag("div", *map(_tile, health.services), class_="tiles"))


def _tile(one: ServiceHealth) -> Markup:
    return tag("div", tag("div", tag("span", one.name, class_="strong"), parts.chip("ok") if one.ok else
                          parts.chip("not well", "bad"), class_="top"),
               tag("div", one.detail, class_="note"), *_took(one), class_="tile")


def _took(one: ServiceHealth) -> list[Markup]:
    return [] if one.ms is None else [tag("div", f"{formats.number(one.ms)} ms", class_="note")]


def _engines(found: Sequence[Engine]) -> Markup:
    if not found:
        return parts.section("Engines", parts.empty("No engines", "An inference process appears here once it runs."))
    return parts.section("Engines", *(_engine(one) for one in found))


def _engine(one: Engine) -> Markup:
    silent = one.age_s > _SILENT_S
    title = join([tag("span", one.id, class_="strong mono"), parts.chip("silent", "bad") if silent else
                  parts.chip("reports", "good")], " ")
    facts = join([one.kind, _load(one), f"reported {formats.duration(one.age_s)} ago",
                 join(["started ", parts.moment(one.started_at)])], " · ")
    models = tables.table(_COLUMNS, [_cells(held) for held in one.models]) if one.models else parts.empty(
        "No model of yours is loaded", "An engine loads a run's policy when the run requests its first samples.")
    return tag("div", tag("p", title), tag("p", facts, class_="note"), models, class_="engine")


def _load(one: Engine) -> str:
    return "load unknown" if one.load is None else f"computes {one.load:.0%} of the time"


_COLUMNS = (Column("Run"), Column("Version"), Column("Samples", RIGHT), Column("Tokens", RIGHT),
            Column("Computing", RIGHT), Column("Tokens a second", RIGHT), Column("Loaded"))


def _cells(held: EngineModel) -> list[object]:
    name = held.run_name or held.model_id
    version = "none" if held.number is None else f"number {held.number}"
    refused = tag("div", f"refused: {held.refused_reason}", class_="note") if held.refused_reason else ""
    rate = held.generated_tokens / held.computed_s if held.computed_s else None
    shown = link(name, f"/runs/{held.run_id}", class_="strong") if held.run_id else tag("strong", name)
    return [shown, join([version, refused]),
            formats.count(held.generated_samples), formats.count(held.generated_tokens),
            formats.duration(held.computed_s), formats.count(rate and round(rate)), parts.moment(held.loaded_at)]
