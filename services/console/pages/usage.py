"""/usage: the usage of each API key and of each run."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from nicegui import ui
from starlette.requests import Request

from hone.client import every
from hone.client.resources import Usage
from hone.spec.money import money
from services.console.view import PageView
from services.console.widgets import formats, parts, tables
from services.console.widgets.markup import Markup, html, join, link, tag
from services.console.widgets.tables import RIGHT, Column

_SPANS = {"All time": None, "Last 30 days": timedelta(days=30), "Last 7 days": timedelta(days=7),
          "Last 24 hours": timedelta(days=1)}
_PAGE = 200
_WORDS = {"prompt_tokens": "Prompt tokens", "completion_tokens": "Sampled tokens", "scored_tokens": "Scored tokens",
          "trained_tokens": "Trained tokens", "trainer_s": "Trainer time", "grades": "Grades",
          "grading_s": "Grading time"}


async def show(view: PageView, request: Request) -> None:
    """Show the usage by key and by run over a span of time."""
    html(parts.heading("Usage", "Tokens, trainer time and grades, by API key and by run."))
    with ui.element("div").classes("filters"):
        span = ui.select(list(_SPANS), value="All time", label="Span", on_change=lambda: view.tried(load)).props(
            "outlined dense")
    total, by_key, by_run = (html(Markup("")) for _ in range(3))

    currency = (await view.ask(view.hone.prices)).currency

    async def load() -> None:
        length = _SPANS[span.value]
        since = datetime.now(UTC) - length if length else None
        keys = await view.ask(lambda: list(every(view.hone.usage, by="key", since=since, limit=_PAGE)))
        runs = await view.ask(lambda: view.hone.usage("run", since, limit=_PAGE))
        total.set_content(_total(keys, currency))
        by_key.set_content(parts.section("By key", _table("Key", keys, currency)))
        newest = f"By run: the newest {len(runs.data)}" if runs.next else "By run"
        by_run.set_content(parts.section(newest, _table("Run", runs.data, currency)))

    await load()


def kinds(found: Sequence[Usage]) -> list[str]:
    """Return the kinds of amounts that occur, the known kinds first."""
    used = {kind for one in found for kind in one.amounts}
    return [kind for kind in _WORDS if kind in used] + sorted(used - set(_WORDS))


def amount(kind: str, value: float | None) -> str:
    """Return an amount with its unit; kinds that end in _s are seconds."""
    return formats.duration(value) if kind.endswith("_s") else formats.count(value)


def _total(found: Sequence[Usage], currency: str) -> Markup:
    sums = {kind: sum(one.amounts.get(kind, 0.0) for one in found) for kind in kinds(found)}
    return parts.figures(*(parts.figure(_WORDS.get(kind, kind), amount(kind, value)) for kind, value in sums.items()),
                         parts.figure("Cost", money(sum(one.cost for one in found), currency)))


def _table(title: str, found: Sequence[Usage], currency: str) -> Markup:
    if not found:
        return parts.empty("No usage", "A run counts here from its first step.")
    shown = kinds(found)
    columns = [Column(title), *(Column(_WORDS.get(kind, kind), RIGHT) for kind in shown), Column("Cost", RIGHT)]
    return tables.table(columns, [
        [_name(title, one), *(amount(kind, one.amounts.get(kind)) for kind in shown), money(one.cost, currency)]
        for one in found])


def _name(title: str, one: Usage) -> Markup:
    name = one.name or one.id or "no key"
    shown = link(name, f"/runs/{one.id}", class_="strong") if title == "Run" and one.id else tag("strong", name)
    return join([shown, tag("div", one.id or "", class_="mono faint")])
