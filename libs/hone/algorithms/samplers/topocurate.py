"""TopoCurate's choice of tasks, arXiv 2603.01714: those whose outcome is decided by choices. A reconstruction."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats
from hone.algorithms.method import Method, Metrics, State
from hone.algorithms.samplers.manifest import ManifestParams
from hone.algorithms.topocurate.curation import CurationParams, TaskScore, probabilities, worth


class TopocurateParams(ManifestParams):
    """Weights of what makes a task worth training on."""

    error_branches: float = Field(1.0, ge=0, description="Weight of the share of choices that only failures took.")
    heterogeneity: float = Field(1.0, ge=0, description="Weight of the number of different chains over the rollouts.")


def topocurate(
    inputs: Sequence[TaskScore], params: TopocurateParams, state: State
) -> tuple[Floats, State, Metrics]:
    """P(task) in proportion to exp(q / T), q = b1 (error branch ratio) + b2 (different chains / rollouts).

    It is 0 where all rollouts of a task succeeded, or none. With less than four rollouts q is 4 p (1 - p).
    """
    chosen = CurationParams(error_branches=params.error_branches, heterogeneity=params.heterogeneity,
                            temperature=params.temperature)
    return np.array(probabilities([replace(one, score=worth(one, chosen)) for one in inputs], chosen)), state, {}


METHOD: Method[Sequence[TaskScore], Floats] = Method(topocurate, TopocurateParams)
