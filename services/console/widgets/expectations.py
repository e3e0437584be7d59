"""Where a step's rollouts went, and whether success came as it was expected: two drawings and a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.console.widgets import formats, parts
from services.console.widgets.markup import Markup, join, tag
from services.console.widgets.tables import RIGHT, Column, table

BANDS = ("0-20", "20-40", "40-60", "60-80", "80-100")
"""Bands of expected chances of success, in per cent, as the names of metrics have them."""
_SIZE, _EDGE = 220, 26  # of a drawing: its side, and the room for its labels
_ALARM_STEPS = 20  # of a step's event and of the rule HonePredictions
_INSIDE = _SIZE - 2 * _EDGE


@dataclass(frozen=True)
class Expectation:
    """The groups of a step with an expected chance in one band: means over them."""

    band: str
    groups: float
    rollouts: float
    expected: float
    actual: float


def of(metrics: Mapping[str, float]) -> list[Expectation]:
    """Return the bands that a run's newest metrics have."""
    names = ("groups", "rollouts", "expected", "actual")
    found = [(band, [metrics.get(f"value/band/{band}/{name}") for name in names]) for band in BANDS]
    return [Expectation(band, *values) for band, own in found
            if len(values := [value for value in own if value is not None]) == len(names)]


def section(metrics: Mapping[str, float]) -> Markup:
    """Return the part of a run's overview about its rollout budgets; nothing where no chances were expected."""
    found = of(metrics)
    if not found:
        return Markup("")
    note = ("Groups by the chance of success that was expected before they were sampled, in the newest step that had "
            "such groups. On the line, success came as often as expected; a larger dot stands for more groups.")
    drawings = tag("div", _agreement(found), _rollouts(found), class_="drawings")
    return parts.section("Rollouts by expected success", _figures(metrics), drawings, _table(found), note=note)


def _figures(metrics: Mapping[str, float]) -> Markup:
    shown = (("Groups with signal", "rollouts/signal_share", "whose samples differ in their reward"),
             ("Predictions used", "value/used_share", "of the step's groups"),
             ("Predicted success", "value/predicted", "mean over predicted groups"),
             ("Actual success", "value/actual", "of the same groups"))
    return parts.figures(*(parts.figure(title, f"{metrics[name]:.0%}", note)
                           for title, name, note in shown if name in metrics), *_quality(metrics))


def _quality(metrics: Mapping[str, float]) -> Iterator[Markup]:
    """Yield how good the predictions were: their order, with an alarm where it has said nothing for long, and bias."""
    if "value/auc" in metrics:
        low = metrics.get("value/low_steps", 0.0)
        note = (f"chance for {low:.0f} steps: predictions say nothing, alarm at {_ALARM_STEPS}" if low else
                "pairs of a success and a failure in the right order; 50 % is chance")
        yield parts.figure("Order of predictions", f"{metrics['value/auc']:.0%}", note,
                           "warn" if low >= _ALARM_STEPS else "")
    if "value/calibration_error" in metrics:
        yield parts.figure("Calibration error", f"{metrics['value/calibration_error']:.0%}",
                           "mean distance of predicted and actual success")


def _table(found: Sequence[Expectation]) -> Markup:
    columns = [Column("Expected", RIGHT), Column("Groups", RIGHT), Column("Samples of a group", RIGHT),
               Column("Mean expected", RIGHT), Column("Actual", RIGHT)]
    return table(columns, [[f"{one.band.replace('-', ' to ')} %", formats.number(one.groups),
                            formats.number(one.rollouts), f"{one.expected:.0%}", f"{one.actual:.0%}"]
                           for one in found])


def _agreement(found: Sequence[Expectation]) -> Markup:
    """Return expected against actual success, a dot for each band."""
    most = max(one.groups for one in found)
    dots = [tag("circle", tag("title", f"{one.band} %: expected {one.expected:.0%}, actual {one.actual:.0%}, "
                                       f"{one.groups:g} groups"),
                cx=f"{_x(one.expected):.1f}", cy=f"{_y(one.actual):.1f}", r=f"{4 + 8 * (one.groups / most) ** 0.5:.1f}",
                class_="dot") for one in found]
    line = tag("line", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1), class_="even")
    words = "; ".join(f"expected {one.expected:.0%}, actual {one.actual:.0%}" for one in found)
    return _drawing("Expected and actual success", words, [
        line, *dots, _words(_SIZE / 2, _SIZE - 6, "expected"), _words(10, _SIZE / 2, "actual", turned=True)])


def _rollouts(found: Sequence[Expectation]) -> Markup:
    """Return the mean number of samples of each band's groups as bars."""
    most, width = max(one.rollouts for one in found), _INSIDE / len(BANDS)
    bars = []
    for one in found:
        height, left = _INSIDE * one.rollouts / most, _EDGE + width * BANDS.index(one.band)
        bars += [tag("rect", tag("title", f"{one.band} %: {one.rollouts:.1f} samples"), x=f"{left + 3:.1f}",
                     y=f"{_SIZE - _EDGE - height:.1f}", width=f"{width - 6:.1f}", height=f"{height:.1f}", rx="2",
                     class_="column"),
                 _words(left + width / 2, _SIZE - _EDGE - height - 5, f"{one.rollouts:.1f}")]
    ends = [_words(_EDGE + width * (place + 0.5), _SIZE - 9, name.partition("-")[0])
            for place, name in enumerate(BANDS)]
    words = "; ".join(f"{one.band} %: {one.rollouts:.1f}" for one in found)
    return _drawing("Samples of a group, by expected success in % from", words, [*bars, *ends])


def _drawing(title: str, words: str, content: Sequence[Markup]) -> Markup:
    frame = tag("rect", x=_EDGE, y=_EDGE, width=_INSIDE, height=_INSIDE, class_="frame")
    svg = tag("svg", frame, join(content), viewBox=f"0 0 {_SIZE} {_SIZE}", role="img", aria_label=f"{title}: {words}")
    return tag("figure", tag("figcaption", title), svg, class_="drawing")


def _words(x: float, y: float, text: str, turned: bool = False) -> Markup:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", transform=f"rotate(-90 {x:.1f} {y:.1f})" if turned else None)


def _x(share: float) -> float:
    return _EDGE + _INSIDE * min(1.0, max(0.0, share))


def _y(share: float) -> float:
    return _SIZE - _EDGE - _INSIDE * min(1.0, max(0.0, share))
