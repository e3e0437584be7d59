"""Samplers (S2): which tasks a run asks. All but uniform draw by a manifest of the tasks' rollouts. numpy, float64."""

from collections.abc import Sequence

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.method import Method, Metrics, State
from hone.algorithms.samplers.manifest import ManifestParams
from hone.algorithms.topocurate.curation import TaskScore


def pass_rate(inputs: Sequence[TaskScore], params: ManifestParams, state: State) -> tuple[Floats, State, Metrics]:
    """P(task) in proportion to exp(4 p (1 - p) / T), p its pass rate; 0 where all its rollouts succeeded, or none."""
    rates = np.array([one.pass_rate for one in inputs], np.float64)
    weights = np.where((rates > 0) & (rates < 1), np.exp((4 * rates * (1 - rates) - 1) / params.temperature), 0.0)
    return weights / (weights.sum() or 1.0), state, {}


METHOD: Method[Sequence[TaskScore], Floats] = Method(pass_rate, ManifestParams)
