"""The learning curve as a picture."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # the backend is chosen before pyplot is imported

from hone.demo.progress import Series

_INK, _REWARD, _SAMPLED, _GREEDY = "#1f2933", "#9fb3c8", "#d64545", "#2680c2"


def draw(series: Series, title: str, path: Path) -> Path:
    """Draw mean reward and held-out accuracy over the steps into a PNG file and return its path."""
    figure, axes = pyplot.subplots(figsize=(8, 4.5), dpi=150, layout="constrained")
    axes.plot(*_points(series, "reward/mean"), color=_REWARD, linewidth=1.2, label="reward of training samples")
    axes.plot(*_points(series, "eval/sampled"), color=_SAMPLED, marker="o", markersize=4, label="held-out, sampled")
    axes.plot(*_points(series, "eval/greedy"), color=_GREEDY, marker="o", markersize=4, label="held-out, greedy")
    axes.set(ylim=(0, 1.02), xlabel="step", ylabel="share of right answers")
    axes.set_title(title, loc="left", color=_INK, fontsize=12, fontweight="bold")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e7eb")
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(path)
    pyplot.close(figure)
    return path


def _points(series: Series, name: str) -> tuple[list[int], list[float]]:
    points = series.get(name, [])
    return [step for step, _ in points], [value for _, value in points]
