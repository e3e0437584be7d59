"""SDAR as a modulation, which is exact on-policy, arXiv 2605.15155; and RLSD. Both are in SDAR's released code."""

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats, ModulationInputs
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.regularizers.sdar import SdarParams

_FLOOR = -60.0
_MAX_SCORE = 700.0
_MAX_LOG_RATIO = 20.0


class SdarModulationParams(SdarParams):
    """Parameters as in the regularizer. The coefficient is added to the advantage of a token with an open gate."""

    def needs(self) -> frozenset[str]:
        """The regularizer's inputs and the old log-probabilities, unless switched off."""
        return super().needs() | {"logp_old"} if self.coefficient else frozenset()


class RlsdParams(Params):
    """The strength and the duration of the teacher's factor."""

    share: float = Field(0.5, ge=0, le=1, description="l of the first step, the share of the multiplier in the factor.")
    steps: int = Field(50, ge=1, description="Steps over which l falls to 0, linearly.")
    clip: float = Field(0.2, ge=0, lt=1, description="e: the multiplier stays within 1 - e and 1 + e.")

    def needs(self) -> frozenset[str]:
        """Both policies' log-probabilities, unless switched off."""
        return frozenset({"logp_old", "logp_teacher"}) if self.share else frozenset()


def sdar(inputs: ModulationInputs, params: SdarModulationParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t + coefficient (g_t - neg_coef (1 - g_t)) where known; g as in the regularizer, D = logp_teacher - logp.

    logp is of the current weights. Raises ValueError without logp_old, logp_teacher or, for two of the gates, entropy.
    """
    score = params.beta * _score(_gap(inputs), inputs.entropy, params.gate)
    gate = 1 / (1 + np.exp(-np.clip(score, -_MAX_SCORE, _MAX_SCORE)))
    added = params.coefficient * (gate - params.neg_coef * (1 - gate))
    known = np.ones(len(gate), bool) if inputs.known is None else inputs.known
    return inputs.advantage + np.where(known, added, 0.0), state, {"gate": _mean(gate)}


def rlsd(inputs: ModulationInputs, params: RlsdParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t (1 - l + l clip(exp(sign(A_t) D_t), 1 - e, 1 + e)) where known; l = share max(0, 1 - step / steps).

    D = logp_teacher - logp of the current weights, nats. Raises ValueError without either.
    """
    share = params.share * max(0.0, 1 - inputs.step / params.steps)
    exponent = np.clip(np.sign(inputs.advantage) * _gap(inputs), -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
    factor = 1 - share + share * np.clip(np.exp(exponent), 1 - params.clip, 1 + params.clip)
    if inputs.known is not None:
        factor = np.where(inputs.known, factor, 1.0)
    return inputs.advantage * factor, state, {"share": share, "factor": _mean(factor)}


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _gap(inputs: ModulationInputs) -> Floats:
    if inputs.logp_old is None or inputs.logp_teacher is None:
        raise ValueError("logp_old, logp_teacher: found none, expected both policies' log-probabilities")
    return np.maximum(inputs.logp_teacher, _FLOOR) - (inputs.logp_old if inputs.logp is None else inputs.logp)


def _score(gap: Floats, entropy: Floats | None, gate: str) -> Floats:
    if gate == "gap":
        return gap
    if entropy is None:
        raise ValueError(f"entropy: found none, expected the policy's, for the gate {gate!r}")
    return entropy if gate == "entropy" else 1 - (1 - entropy) * (1 - gap)


SDAR: Method[ModulationInputs, Floats] = Method(sdar, SdarModulationParams, every_update=True,
               excludes={("regularizers", "sdar"): "which is the same term once more"})
RLSD: Method[ModulationInputs, Floats] = Method(rlsd, RlsdParams, every_update=True)
