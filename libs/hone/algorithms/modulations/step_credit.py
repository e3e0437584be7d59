"""Step credit, our extension of V-tableR1, arXiv 2604.20755: the paper's critic scores steps, its reward does not."""

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats, ModulationInputs
from hone.algorithms.method import Method, Metrics, Params, State


class StepCreditParams(Params):
    """The influence of a step's score on the advantages of its tokens."""

    c: float = Field(0.0, ge=0, le=1, description="Factor of the score's distance from its mean; 0 switches it off.")

    def needs(self) -> frozenset[str]:
        """The scores of steps, unless switched off."""
        return frozenset({"turns", "steps"}) if self.c else frozenset()


def step_credit(inputs: ModulationInputs, params: StepCreditParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t (1 + c (s_j - mean s)) for the tokens t of step j, mean over the trajectory's steps; A_t outside every step.

    Steps without a trained token are not in the mean. In a run, s_j is what the grader gave a step inside an answer. Of
    a trajectory without such steps the turns are steps, and s_j is 1 + the mean score of turn j's rules, each from -1
    to 0 (a reconstruction). Raises ValueError without segment or score, unless c = 0.
    """
    factor = np.ones_like(inputs.advantage)
    if params.c:
        if inputs.segment is None or inputs.score is None:
            raise ValueError("segment, score: found none, expected the scored steps of each trajectory")
        ends = np.cumsum(inputs.tokens)
        for start, end in zip(ends - inputs.tokens, ends, strict=True):
            segment = inputs.segment[start:end]
            inside = segment >= 0
            if inside.any():
                mean = inputs.score[np.unique(segment[inside])].mean()
                factor[start:end][inside] += params.c * (inputs.score[segment[inside]] - mean)
    return inputs.advantage * factor, state, {"factor_max": float(factor.max(initial=1.0))}


METHOD: Method[ModulationInputs, Floats] = Method(step_credit, StepCreditParams)
