"""On-policy distillation: the teacher scores the student's own tokens. The baseline of AOPD, arXiv 2605.06387."""

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


class TeacherParams(Params):
    """Base of estimators that compare student and teacher."""

    def needs(self) -> frozenset[str]:
        """Both policies' log-probabilities of the sampled tokens."""
        return frozenset({"logp_old", "logp_teacher"})


class OpdParams(TeacherParams):
    """The bound that keeps advantages finite."""

    floor: float = Field(-60.0, ge=-1000, lt=0, description="A lower logp_teacher is read as this, in nats.")


def opd(inputs: AdvantageInputs, params: OpdParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t = max(logp_teacher_t, floor) - logp_old_t, nats. Raises ValueError without either."""
    teacher, old = logprobs(inputs)
    advantage = np.maximum(teacher, params.floor) - old
    return advantage, state, {"mean": float(advantage.mean()), "min": float(advantage.min())}


def logprobs(inputs: AdvantageInputs) -> tuple[Floats, Floats]:
    """Return logp_teacher and logp_old, [M] each, nats. Raises ValueError when one is missing."""
    if inputs.logp_teacher is None:
        raise ValueError("logp_teacher: found none, expected the teacher's log-probabilities")
    if inputs.logp_old is None:
        raise ValueError("logp_old: found none, expected the log-probabilities before the first update")
    return inputs.logp_teacher, inputs.logp_old


METHOD: Method[AdvantageInputs, Estimate] = Method(opd, OpdParams)
