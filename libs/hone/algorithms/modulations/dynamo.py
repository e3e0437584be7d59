"""DynaMO, arXiv 2602.19208, part 2: raises confident right tokens, damps tokens that would change the entropy."""

from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, varies
from hone.algorithms.inputs import MAX_LOG_RATIO, Floats, ModulationInputs
from hone.algorithms.method import Method, Metrics, Params, State


class DynamoParams(Params):
    """Two factors of the advantage. alpha_c = 0 switches off the first one, floor = 1 the second one."""

    alpha_c: float = Field(0.2, ge=0, description="Largest gain of a positive advantage, at the smallest entropy.")
    floor: float = Field(0.6, ge=0, le=1, description="l, the factor for the largest entropy changes.")
    kappa: float = Field(50.0, ge=0, le=500, description="Steepness of the fall of the factor, per unit of x.")
    tau: float = Field(
        0.99, ge=0, le=1, description="x at half of the fall; x is a token's share of the largest entropy change.")
    mode: Literal["exact", "row_mean"] = Field(
        "exact", description="E[p Lam]: over the vocabulary, or the trajectory's mean as in the released code.")
    xi_norm: Literal["max", "p99"] = Field(
        "max", description="Unit of entropy changes: the minibatch's largest or its 99th percentile.")

    def needs(self) -> frozenset[str]:
        """Entropies and old log-probabilities; with mode exact also the sum over the vocabulary."""
        return frozenset({"entropy", "logp_old"} | ({"expected"} if self.mode == "exact" else set()))


def dynamo(inputs: ModulationInputs, params: DynamoParams, state: State) -> tuple[Floats, State, Metrics]:
    """A b_comp b_stab, [M].

    b_comp = 1 + alpha_c (H_max - H) / (H_max - H_min) where A > 0, else 1, over the tokens of the minibatch.
    b_stab = l + (1 - l) / (1 + exp(kappa (x - tau))), x = |dH| / max |dH| (or its 99th percentile, at most 1).
    Raises ValueError without an input of `needs`.
    """
    entropy = _given(inputs.entropy, "entropy")
    swing = np.abs(_entropy_change(inputs, params.mode, entropy))
    gain, damping = _compensation(inputs.advantage, entropy, params.alpha_c), _stabilisation(swing, params)
    return inputs.advantage * gain * damping, state, {
        "compensation_mean": _mean(gain),
        "stabilisation_mean": _mean(damping),
        "swing_mean": _mean(swing),
        "swing_max": float(swing.max(initial=0.0)),
    }


def _compensation(advantage: Floats, entropy: Floats, alpha_c: float) -> Floats:
    if not entropy.size or not varies(entropy):
        return np.ones_like(advantage)
    confidence = (entropy.max() - entropy) / np.ptp(entropy)
    return np.where(advantage > 0, 1 + alpha_c * confidence, 1.0)


def _entropy_change(inputs: ModulationInputs, mode: str, entropy: Floats) -> Floats:
    """dH = -xi (p Lam - E[p Lam]), Lam = log p + H, xi = I_clip rho A: to first order, in nats, [M]."""
    logp, before = _given(inputs.logp, "logp"), _given(inputs.logp_old, "logp_old")
    logp_old = before if inputs.logp_sampler is None else inputs.logp_sampler
    product = np.exp(logp) * (logp + entropy)
    mean = _given(inputs.expected, "expected") if mode == "exact" else _trajectory_means(product, inputs)
    ratio = np.exp(np.clip(logp - logp_old, -MAX_LOG_RATIO, MAX_LOG_RATIO))
    flows = np.where(inputs.advantage > 0, ratio <= 1 + inputs.clip_high, ratio >= 1 - inputs.clip_low)
    change: Floats = -(flows * ratio * inputs.advantage) * (product - mean)
    return change


def _trajectory_means(values: Floats, inputs: ModulationInputs) -> Floats:
    rows = np.repeat(np.arange(len(inputs.tokens)), inputs.tokens)
    sums = np.bincount(rows, weights=values, minlength=len(inputs.tokens))
    return broadcast(sums / np.maximum(inputs.tokens, 1), inputs.tokens)


def _stabilisation(swing: Floats, params: DynamoParams) -> Floats:
    if not swing.any():
        return np.ones_like(swing)
    scale = swing.max() if params.xi_norm == "max" else np.percentile(swing, 99)
    share = np.divide(swing, scale, out=np.sign(swing), where=swing < scale)
    damping: Floats = params.floor + (1 - params.floor) / (1 + np.exp(params.kappa * (share - params.tau)))
    return damping


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else 0.0


def _given(values: Floats | None, name: str) -> Floats:
    if values is None:
        raise ValueError(f"{name}: found none, expected one value for each trained token")
    return values


METHOD: Method[ModulationInputs, Floats] = Method(dynamo, DynamoParams, every_update=True)
