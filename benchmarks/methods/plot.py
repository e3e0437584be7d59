"""The curves of an experiment as an SVG: the mean over seeds, and each seed behind it."""

from pathlib import Path

import matplotlib

from benchmarks.methods.experiment import Experiment
from benchmarks.methods.measured import Outcomes, mean_curve

matplotlib.use("svg")
from matplotlib import pyplot  # after the backend is chosen


def draw(name: str, experiment: Experiment, found: Outcomes, target: Path) -> None:
    """Write the plot of an experiment's runs; equal runs give equal bytes."""
    matplotlib.rcParams["svg.hashsalt"] = name
    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for variant, runs in found.items():
        line, = axes.plot(mean_curve(runs), label=variant)
        for run in runs:
            axes.plot(run.curve, color=line.get_color(), alpha=0.2, linewidth=0.8)
    axes.set(title=name, xlabel=experiment.across, ylabel=experiment.shown)
    axes.legend()
    figure.savefig(target, format="svg", bbox_inches="tight", metadata={"Date": None})
    pyplot.close(figure)
