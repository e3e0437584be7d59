"""Linear regression by SGD in one pass: how late may the batches grow? A hard and an easy task on one stream."""

from collections.abc import Mapping
from functools import cache

import numpy as np

from benchmarks.methods.experiment import Expectation, Experiment, Outcome
from hone.algorithms.catalogue import BATCH_SIZES
from hone.algorithms.inputs import Floats
from hone.algorithms.schedules.batch_size import Consumption

FEATURES, BUDGET, SMALL, LARGE, RATE, NOISE, POINTS = 256, 100_000, 8, 128, 0.05, 2.0, 50
TASKS: Mapping[str, float] = {"hard": 0.3, "easy": 1.5}  # s
SCHEDULES: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "constant 8": ("constant", {"rows": SMALL}),
    "constant 128": ("constant", {"rows": LARGE}),
    **{f"{percent} %": ("late_switch", {"small": SMALL, "large": LARGE, "fraction": percent / 100})
       for percent in (20, 80, 90, 95)},
}
VARIANCES = np.arange(1, FEATURES + 1, dtype=np.float64) ** -2.0
TARGETS = np.stack(
    [np.sqrt(np.arange(1, FEATURES + 1) ** -(1 + 2 * s) / VARIANCES) for s in TASKS.values()], axis=1)  # [j, task]


@cache
def run(schedule: str, seed: int) -> Outcome:
    """Train both tasks on a seed's stream; the figures are excess risks, the curve the hard one's over the rows."""
    features, labels = _stream(seed)
    weights, consumed = np.zeros_like(TARGETS), 0
    curve: list[float] = []
    while rows := _rows(schedule, consumed):
        if consumed * POINTS >= BUDGET * len(curve):
            curve.append(float(_risks(weights)[0]))
        x, y = features[consumed:consumed + rows], labels[consumed:consumed + rows]
        weights -= RATE / rows * (x.T @ (x @ weights - y))
        consumed += rows
    return Outcome(dict(zip(TASKS, map(float, _risks(weights)), strict=True)), curve)


def _stream(seed: int) -> tuple[Floats, Floats]:
    """Return the features of every row and its labels for both tasks."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((BUDGET, FEATURES)) * np.sqrt(VARIANCES)
    return features, features @ TARGETS + NOISE * rng.standard_normal((BUDGET, 1))


def _rows(schedule: str, consumed: int) -> int:
    """Ask the schedule for the next batch; 0 when the budget is spent."""
    name, params = SCHEDULES[schedule]
    return BATCH_SIZES[name](Consumption(consumed, BUDGET), params, {})[0]


def _risks(weights: Floats) -> Floats:
    """Return 0.5 sum_j j^-2 (w_j - w*_j)^2 of each task."""
    risks: Floats = 0.5 * (VARIANCES @ np.square(weights - TARGETS))
    return risks


BATCH_SIZE = Experiment(
    "batch-size-scheduling.md (b)", "How late may one switch to large batches, at a fixed budget of rows?",
    "excess risk of the hard task", tuple(SCHEDULES), run,
    (Expectation("hard: 95 % < 80 % < 20 % < constant 128",
                 lambda m: m["95 %"]["hard"] < m["80 %"]["hard"] < m["20 %"]["hard"] < m["constant 128"]["hard"]),
     Expectation("hard: 95 % <= constant 8", lambda m: m["95 %"]["hard"] <= m["constant 8"]["hard"]),
     Expectation("easy: 20 % < 95 %", lambda m: m["20 %"]["easy"] < m["95 %"]["easy"]),
     Expectation("easy: constant 128 < constant 8", lambda m: m["constant 128"]["easy"] < m["constant 8"]["easy"])))
