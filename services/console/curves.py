"""Curves as options of ECharts: one line a seed, colours that are told apart on light and dark alike."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PALETTE = ("#4f7cff", "#f59e0b", "#10b3a3", "#e0559a", "#9b6bff", "#7aa116", "#e2603f", "#3aa0d8")
"""The run in question has the first colour, its siblings the others."""

_GREY, _GRID = "#8b93a1", "rgba(139,147,161,0.18)"
_FEW = 40


@dataclass(frozen=True)
class Line:
    """A run's values of one metric; the page's own run is `main`."""

    name: str
    points: Sequence[tuple[int, float]]
    main: bool = True


def options(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the options of one chart."""
    return {
        "animation": False, "color": list(PALETTE), "backgroundColor": "transparent",
        "grid": {"left": 4, "right": 14, "top": 14, "bottom": 4, "containLabel": True},
        "tooltip": {"trigger": "axis", "confine": True, "backgroundColor": "rgba(20,24,33,0.94)", "borderWidth": 0,
                    "textStyle": {"color": "#f4f6fa", "fontSize": 12}, "axisPointer": {"lineStyle": {"color": _GREY}}},
        "xAxis": _axis(minInterval=1, min="dataMin", max="dataMax", splitLine={"show": False}),
        "yAxis": _axis(scale=True, splitLine={"lineStyle": {"color": _GRID}}),
        "series": series(lines),
    }


def series(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the lines of a chart; a place in the list is a colour."""
    return [{
        "name": line.name, "type": "line", "data": [[step, rounded(value)] for step, value in line.points],
        "showSymbol": len(line.points) <= _FEW, "symbolSize": 5, "sampling": "lttb", "z": 3 if line.main else 2,
        "lineStyle": {"width": 2.4 if line.main else 1.4, "opacity": 1 if line.main else 0.75},
    } for line in lines]


def rounded(value: float) -> float | None:
    """Return a value with the digits that a curve needs; None, a gap in it, for what is no finite number."""
    return None if not math.isfinite(value) else float(f"{value:.5g}")


def spoken(title: str, lines: Sequence[Line]) -> str:
    """Return a curve in words, for those who do not see it."""
    ends = [f"{line.name} {_said(line.points[-1][1])} at step {line.points[-1][0]}" for line in lines if line.points]
    return f"{title}: {'; '.join(ends) or 'no values yet'}"


def _said(value: float) -> str:
    return "no finite number" if not math.isfinite(value) else str(rounded(value))


def _axis(**options: Any) -> dict[str, Any]:
    label = {"color": _GREY, "fontSize": 11, "hideOverlap": True}
    return {"type": "value", "axisLabel": label, "axisLine": {"lineStyle": {"color": _GRID}},
            "axisTick": {"show": False}, **options}
