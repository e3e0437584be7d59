"""The sides of preference pairs as an estimator; a modulation turns them into weights."""

import numpy as np

from hone.algorithms.advantages.statistics import broadcast
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.preferences import SIDES


class PreferenceParams(Params):
    """No parameters."""

    def needs(self) -> frozenset[str]:
        """Calls of the kinds that branches have."""
        return frozenset({"kinds"})


def preference(inputs: AdvantageInputs, params: PreferenceParams, state: State) -> tuple[Floats, State, Metrics]:
    """A = +1 on the chosen side of a pair, -1 on the rejected side."""
    return broadcast(np.where(inputs.reward > 0, 1.0, -1.0), inputs.tokens), state, {}


METHOD: Method[AdvantageInputs, Estimate] = Method(preference, PreferenceParams, builder="selskill", kinds=SIDES)
