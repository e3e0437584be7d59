"""Measured and predicted rates: a table of errors, a drawing for each prediction, and rates beside each other."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hone.client.audience_resources import MeasuredMerchant
from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, join, tag
from services.console.widgets.tables import RIGHT, Column, table


class Prediction(NamedTuple):
    """Somebody who predicts rates: title, what it is, and the CSS class of its marks."""

    title: str
    meaning: str
    kind: str = ""


PREDICTIONS: Mapping[str, Prediction] = {
    "base_rate": Prediction("Base rate", "the rate of all exposures, for every merchant"),
    "raw_reasoner": Prediction("Reasoner, raw", "the reasoner's rates, uncorrected"),
    "raw_model": Prediction("Model, raw", "fitted to the features alone, without rules"),
    "reasoned": Prediction("Reasoner", "drawn towards the rates of the rules", "reasoned"),
    "fitted": Prediction("Model", "fitted to features and rules", "fitted"),
    "fused": Prediction("Fused", "by weights that were fitted to these merchants", "fused"),
    "left_out": Prediction("Fused, left out", "each merchant by all other merchants: the fair figure", "fused"),
}
"""Names of a fit's errors, in the order of a table."""

_DRAWN = ("reasoned", "fitted", "fused")
_SIZE, _LEFT, _EDGE = 260, 38, 24  # of a drawing: its side, and the room for its labels
_INSIDE = _SIZE - _LEFT - _EDGE


def errors(found: Mapping[str, Mapping[str, float | None]]) -> Markup:
    """Return the errors of each prediction as a table with bars."""
    known = {name: one for name, one in found.items() if name in PREDICTIONS}
    if not known:
        return parts.section("Errors", parts.empty("No errors are known", "No merchant was left out of the fit."))
    most = max(one["mae"] or 0.0 for one in known.values()) or 1.0
    least = min(one["mae"] or 0.0 for name, one in known.items() if name != "fused")
    rows = [[tag("span", named.title, class_="strong"), named.meaning,
             _bar((known[name]["mae"] or 0) / most, named.kind), _error(known[name]["mae"], least),
             _percent(known[name]["gse"])] for name, named in PREDICTIONS.items() if name in known]
    columns = [Column("Prediction"), Column("What it is", "wide"), Column("", "bars"), Column("MAE, points", RIGHT),
               Column("GSE", RIGHT)]
    note = ("On merchants that nothing was fitted to. MAE: mean distance from the measured rate, in points of a "
            "hundred. GSE: the distance as a share of the rate, of groups with at least 30 users.")
    return parts.section("Errors", table(columns, rows), note=note)


def _error(mae: float | None, least: float) -> object:
    if mae is None:
        return formats.ABSENT
    return tag("span", f"{100 * mae:.1f}", class_="best" if mae == least else None)


def _percent(gse: float | None) -> str:
    return formats.ABSENT if gse is None else f"{gse:.1f} %"


def _bar(share: float, kind: str) -> Markup:
    return tag("div", tag("i", style=f"width:{100 * share:.1f}%"), class_=f"bar {kind}".strip(), aria_hidden="true")


def section(steps: Sequence[str], found: Sequence[MeasuredMerchant]) -> Markup:
    """Return the measured rates of merchants against the predicted ones: a row of drawings for each step."""
    if not found:
        return Markup("")
    note = ("A dot is a merchant that was left out of the fit. On the line its users act as predicted, above it more "
            "often.")
    shown = [join([tag("h3", step) if len(steps) > 1 else "", tag("div", *(
        _drawing(name, step, _points(name, place, found)) for name in _DRAWN), class_="drawings wide-drawings")])
        for place, step in enumerate(steps)]
    return parts.section("Calibration", *shown, note=note)


class _Point(NamedTuple):
    merchant: str
    predicted: float
    measured: float
    users: int


def _points(name: str, place: int, found: Sequence[MeasuredMerchant]) -> list[_Point]:
    return [_Point(one.merchant, values[place], one.rates[place], one.users) for one in found
            if (values := getattr(one, name)) is not None]


def _drawing(name: str, step: str, points: Sequence[_Point]) -> Markup:
    named = PREDICTIONS[name]
    if not points:
        return Markup("")
    top = _round_up(max(max(one.predicted, one.measured) for one in points))
    dots = [tag("circle", tag("title", f"{one.merchant}: predicted {one.predicted:.1%}, measured {one.measured:.1%}, "
                                       f"{one.users} users"), cx=f"{_x(one.predicted / top):.1f}",
                cy=f"{_y(one.measured / top):.1f}", r="4.5", class_=f"dot {named.kind}") for one in points]
    mae = sum(abs(one.predicted - one.measured) for one in points) / len(points)
    title = join([tag("span", named.title, class_="strong"), f" {100 * mae:.1f} points off"])
    svg = tag("svg", *_axes(top), *dots, viewBox=f"0 0 {_SIZE} {_SIZE}", role="img", aria_label=(
        f"{step}: predicted and measured rates of {len(points)} merchants, {named.title}, {100 * mae:.1f} points off"))
    return tag("figure", tag("figcaption", title), svg, class_="drawing")


def _axes(top: float) -> list[Markup]:
    frame = tag("rect", x=_LEFT, y=_EDGE / 2, width=_INSIDE, height=_INSIDE, class_="frame")
    ticks = [mark for share in (0.0, 0.5, 1.0) for mark in (
        tag("text", f"{share * top:.0%}", x=f"{_x(share):.1f}", y=_SIZE - _EDGE + 2),
        tag("text", f"{share * top:.0%}", x=_LEFT - 6, y=f"{_y(share) + 3:.1f}", class_="tick"))]
    names = [tag("text", "predicted", x=f"{_x(0.5):.1f}", y=_SIZE - 8),
             tag("text", "measured", x=9, y=f"{_y(0.5):.1f}", transform=f"rotate(-90 9 {_y(0.5):.1f})")]
    return [frame, tag("line", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1), class_="even"), *ticks, *names]


def _round_up(rate: float) -> float:
    """Return the end of an axis: the next tenth, of small rates the next hundredth with an even number."""
    step = 0.1 if rate > 0.1 else 0.02
    return min(1.0, step * (int(rate / step) + 1))


def _x(share: float) -> float:
    return _LEFT + _INSIDE * min(1.0, max(0.0, share))


def _y(share: float) -> float:
    return _EDGE / 2 + _INSIDE * (1 - min(1.0, max(0.0, share)))


def dumbbell(base: float, rate: float) -> Markup:
    """Return two rates on a line from 0 to 100 %: hollow the one of the others, filled that of a rule."""
    x, to = 6 + 108 * base, 6 + 108 * rate
    return tag("svg", tag("line", x1=6, y1=8, x2=114, y2=8, class_="ground"),
               tag("line", x1=f"{x:.1f}", y1=8, x2=f"{to:.1f}", y2=8, class_="way"),
               tag("circle", cx=f"{x:.1f}", cy=8, r=3.5, class_="others"),
               tag("circle", cx=f"{to:.1f}", cy=8, r=5, class_="rate"),
               viewBox="0 0 120 16", class_="dumbbell", role="img", aria_label=f"{base:.0%} to {rate:.0%}")
