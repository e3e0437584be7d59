"""S4: better than what? Estimators over the trajectories of a step, one value for each trained token."""

from collections.abc import Mapping

import numpy as np

from hone.algorithms.advantages.dr_grpo import dr_grpo
from hone.algorithms.advantages.grpo import GrpoParams, grpo
from hone.algorithms.advantages.inputs import AdvantageInputs, Floats
from hone.algorithms.advantages.reinforce import ReinforceParams, reinforce
from hone.algorithms.advantages.reinforce_pp import (
    ReinforcePpParams,
    WhitenParams,
    reinforce_pp,
    reinforce_pp_baseline,
)
from hone.algorithms.advantages.rloo import rloo
from hone.algorithms.method import Method, Metrics, Params, State


def none(inputs: AdvantageInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """A = 1: every trained token counts alike, as in supervised training."""
    return np.ones(int(inputs.tokens.sum())), state, {}


ADVANTAGES: Mapping[str, Method[AdvantageInputs, Floats]] = {
    "none": Method(none),
    "grpo": Method(grpo, GrpoParams),
    "dr_grpo": Method(dr_grpo),
    "rloo": Method(rloo),
    "reinforce": Method(reinforce, ReinforceParams),
    "reinforce_pp": Method(reinforce_pp, ReinforcePpParams),
    "reinforce_pp_baseline": Method(reinforce_pp_baseline, WhitenParams),
}
