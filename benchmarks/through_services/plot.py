"""The curves of a comparison as an SVG on white: means over seeds as lines, smallest to largest as bands."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

from benchmarks.through_services.curves import Curve, bands

matplotlib.use("svg")
from matplotlib import pyplot  # after the backend is chosen

SHOWN = {"sampled": "held-out accuracy, sampled", "greedy": "held-out accuracy, greedy"}


def draw(name: str, arms: Mapping[str, Sequence[Curve]], target: Path) -> None:
    """Write the plot of a comparison; equal curves give equal bytes."""
    matplotlib.rcParams["svg.hashsalt"] = name
    figure, axes = pyplot.subplots(1, len(SHOWN), figsize=(9, 3.5), facecolor="white", layout="constrained")
    for place, (shown, label) in zip(axes, SHOWN.items(), strict=True):
        for arm, runs in arms.items():
            over = bands(runs, shown)
            rollouts = [band.rollouts for band in over]
            line, = place.plot(rollouts, [band.mean for band in over], label=arm)
            place.fill_between(rollouts, [band.low for band in over], [band.high for band in over],
                               color=line.get_color(), alpha=0.15, linewidth=0)
        place.set(title=name, xlabel="rollouts", ylabel=label)
    axes[0].legend()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, format="svg", metadata={"Date": None})
    pyplot.close(figure)
