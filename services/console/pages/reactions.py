"""The part of an audience's page that simulates a strategy: features of merchant and strategy, and the reaction."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from hone.audiences.alarm import LIMIT, WINDOW
from hone.client.audience_resources import AudienceFit, AudienceReaction, StepReaction
from services.console.view import PageView
from services.console.widgets import parts
from services.console.widgets.agreement import PREDICTIONS
from services.console.widgets.markup import Markup, details, html, join, tag

_BRANCHES = ("reasoned", "fitted", "fused")
_FLAGS = {"no policies": "No rule was found: the evidence is the base rate.",
          "no reasoner": "No reasoner was understood: the fitted model stands alone.",
          "not calibrated": "The fusion has no weights: the fitted model stands alone.",
          "few users": "Fewer than 30 users are in this group."}
_PARTS = {"strategy": "Strategy", "merchant": "Merchant"}


class ReactionForm:
    """The form, and the newest reaction below it."""

    def __init__(self, view: PageView, fit: AudienceFit) -> None:
        self._view, self._fit = view, fit
        fields: Mapping[str, Any] = fit.report.get("fields", {})
        self._fields: dict[str, ui.number | ui.select] = {}
        with ui.element("section").classes("panel"):
            html(tag("h2", "Simulate a strategy"))
            for part, title in _PARTS.items():
                html(tag("h4", title))
                with ui.element("div").classes("filters"):
                    self._fields |= {name: _field(name, known) for name, known in fields.items()
                                     if name.startswith(f"{part}.")}
            self._segment(sorted(name for name, known in fields.items() if name.startswith("user.")
                                 and not _is_word(known)))
            with ui.element("div").classes("actions"):
                self._button = view.permit(ui.button(
                    "Simulate", on_click=lambda: view.tried(self._simulate), color=None).props(
                    "unelevated no-caps").classes("primary"), "run")
            self._content = html(Markup("")).props("role=status")

    def _segment(self, columns: Sequence[str]) -> None:
        html(tag("h4", "Users"))
        with ui.element("div").classes("filters"):
            self._column = ui.select({"": "All users", **{one: one.partition(".")[2] for one in columns}}, value="",
                                     label="Those whose").props("outlined dense")
            self._comparison = ui.select({">": "is more than", "<=": "is at most"}, value=">",
                                         label="Comparison").props("outlined dense")
            self._bound = ui.number("Bound", value=0.5).props("outlined dense").classes("short")

    async def _simulate(self) -> None:
        self._button.disable()
        self._content.set_content(tag("div", "Asking …", class_="banner busy"))
        shown = Markup("")
        try:
            found = await self._view.ask(self._view.hone.simulate_audience, self._fit.id, self._features("merchant"),
                                         self._features("strategy"), self._wanted_segment())
            shown = reaction(found)
        finally:
            self._content.set_content(shown)
            self._button.enable()

    def _features(self, part: str) -> dict[str, Any]:
        """Return the features of a part; an empty field is left out, and the gateway names it."""
        return {name.partition(".")[2]: field.value for name, field in self._fields.items()
                if name.startswith(f"{part}.") and field.value is not None}

    def _wanted_segment(self) -> list[dict[str, Any]]:
        if not self._column.value:
            return []
        return [{"column": self._column.value, "comparison": self._comparison.value, "bound": self._bound.value}]


def _is_word(known: Sequence[Any]) -> bool:
    return isinstance(known[0], str)


def _field(name: str, known: Sequence[Any]) -> ui.number | ui.select:
    label = name.partition(".")[2]
    if _is_word(known):
        return ui.select(list(known), value=known[0], label=label).props("outlined dense")
    low, mean, high = known
    digits = 2 - math.floor(math.log10(high - low)) if high > low else 3
    low, mean, high = (round(value, digits) for value in (low, mean, high))
    return ui.number(label, value=mean).props(f'outlined dense hint="{low:g} to {high:g} in the logs"')


def reaction(found: AudienceReaction) -> Markup:
    """Return how a group reacts: the rates of both branches and their fusion, their gap, and the rules that hold."""
    gap = "" if found.gap is None else parts.figures(
        parts.figure("|R − F|", f"{100 * found.gap:.1f} points", "distance of reasoner and model, here",
                     "warn" if found.gap > LIMIT else ""),
        parts.figure("Its running mean", f"{100 * found.mean_gap:.1f} points",
                     f"over the newest {WINDOW} simulations; alarm above {100 * LIMIT:.0f}",
                     "warn" if found.alarm else ""),
        parts.figure("Personas", str(found.personas), f"of {found.users} users; the reasoner was understood"))
    held = tag("ul", *(tag("li", text) for text in found.policies), class_="rules")
    rules = details(f"{len(found.policies)} rules hold for some of these users", held) if found.policies else ""
    return tag("div", _alarm(found), *map(_flag, found.flags), tag("div", *map(_step, found.steps), class_="reactions"),
               gap, rules, class_="stacked")


def _alarm(found: AudienceReaction) -> Markup:
    if not found.alarm:
        return Markup("")
    return tag("div", f"Alarm: reasoner and model are {100 * found.mean_gap:.0f} points apart on average. At least "
               "one of the two is far off; a policy that is rewarded by this simulator may be exploiting the reasoner.",
               class_="banner failed", role="alert")


def _flag(flag: str) -> Markup:
    column = flag.removeprefix("extrapolates: ")
    beyond = f"{column} is outside the range of the logs: nobody tried this."
    words = beyond if column != flag else _FLAGS.get(flag, flag)
    return tag("div", words, class_="banner warning")


def _step(one: StepReaction) -> Markup:
    rates = {"reasoned": one.reasoned, "fitted": one.fitted, "fused": one.rate}
    title = tag("h3", one.step, " ", tag("span", f"{one.rate:.1%}", class_="strong"), tag(
        "span", f"reasoner's weight {one.weight:.0%}", class_="note"))
    return tag("div", title, *(_bar(name, rate) for name in _BRANCHES if (rate := rates[name]) is not None),
               class_="reaction")


def _bar(name: str, rate: float) -> Markup:
    named = PREDICTIONS[name]
    bar = tag("div", tag("i", style=f"width:{100 * rate:.1f}%"), class_=f"bar {named.kind}", aria_hidden="true")
    return join([tag("span", named.title), bar, tag("span", f"{rate:.1%}", class_="share")])
