"""Samplers (S2): which tasks a run asks. All but uniform draw by a manifest of the tasks' rollouts. numpy, float64."""

from collections.abc import Mapping, Sequence

import numpy as np

from hone.algorithms.inputs import Floats
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.samplers.manifest import ManifestParams
from hone.algorithms.samplers.topocurate import TopocurateParams, topocurate
from hone.algorithms.topocurate.curation import TaskScore


def uniform(inputs: Sequence[TaskScore], params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """Every row of a dataset once an epoch, in a seeded order; tasks of an environment in the order of its stream."""
    return np.full(len(inputs), 1 / max(1, len(inputs))), state, {}


def pass_rate(inputs: Sequence[TaskScore], params: ManifestParams, state: State) -> tuple[Floats, State, Metrics]:
    """P(task) in proportion to exp(4 p (1 - p) / T), p its pass rate; 0 where all its rollouts succeeded, or none."""
    rates = np.array([one.pass_rate for one in inputs], np.float64)
    weights = np.where((rates > 0) & (rates < 1), np.exp((4 * rates * (1 - rates) - 1) / params.temperature), 0.0)
    return weights / (weights.sum() or 1.0), state, {}


SAMPLERS: Mapping[str, Method[Sequence[TaskScore], Floats]] = {
    "uniform": Method(uniform),
    "pass_rate": Method(pass_rate, ManifestParams),
    "topocurate": Method(topocurate, TopocurateParams),
}
