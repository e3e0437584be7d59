"""Running an experiment: every variant on every seed, means and spreads, and which expectations hold."""

import inspect
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.methods.experiment import Experiment, Means, Outcome

Outcomes = Mapping[str, Sequence[Outcome]]
"""Variant -> one outcome for each seed."""


def outcomes(experiment: Experiment, seeds: int) -> Outcomes:
    """Run every variant on the seeds 0 to `seeds` - 1."""
    return {variant: [experiment.run(variant, seed) for seed in range(seeds)] for variant in experiment.variants}


def means(found: Outcomes) -> Means:
    """Return each variant's figures, averaged over its runs."""
    return {variant: {name: statistics.fmean(run.figures[name] for run in runs) for name in runs[0].figures}
            for variant, runs in found.items()}


def spreads(found: Outcomes) -> Means:
    """Return each variant's smallest and largest figure over its runs, half of what lies between."""
    return {variant: {name: _half_range([run.figures[name] for run in runs]) for name in runs[0].figures}
            for variant, runs in found.items()}


def measure(experiment: Experiment, seeds: int) -> tuple[dict[str, Any], Outcomes]:
    """Return what an experiment showed as JSON, and its runs."""
    began = time.perf_counter()
    found = outcomes(experiment, seeds)
    mean = means(found)
    return {
        "spec": experiment.source, "question": experiment.question, "seeds": seeds, "means": mean,
        "half_ranges": spreads(found), "wall_s": round(time.perf_counter() - began, 1),
        "expectations": [{"text": one.text, "holds": bool(one.holds(mean))} for one in experiment.expects],
    }, found


def world(experiment: Experiment) -> str:
    """Return what the experiment's module says of its world, and of what the spec leaves open."""
    run = inspect.unwrap(experiment.run)
    defined = run.func if isinstance(run, partial) else run
    return inspect.getdoc(sys.modules[defined.__module__]) or ""


def mean_curve(runs: Sequence[Outcome]) -> list[float]:
    """Return the mean of the runs' curves, as long as the shortest."""
    return [statistics.fmean(values) for values in zip(*(run.curve for run in runs), strict=False)]


def _half_range(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / 2
