"""GAE, generalised advantage estimation, arXiv 1506.02438, as PPO uses it (arXiv 1707.06347)."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.reinforce_pp import WhitenParams
from hone.algorithms.advantages.statistics import discounted_sums, varies, whitened
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, State

_EPS = 1e-8


class GaeParams(WhitenParams):
    """The discount, the trust in the critic, and the normalisation."""

    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a reward for each token between it and the token.")
    lam: float = Field(1.0, ge=0, le=1, description="0: rely on the critic's next value; 1: rely on the rewards alone.")
    whiten: bool = Field(True, description="Scale advantages to mean 0 and variance 1 over the batch's tokens.")

    def needs(self) -> frozenset[str]:
        """The critic's values."""
        return frozenset({"values"})


def gae(inputs: AdvantageInputs, params: GaeParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t = delta_t + gamma lam A_{t+1}, delta_t = r_t + gamma V_{t+1} - V_t, V = A = 0 after the last token.

    r_t is the outcome at the trajectory's last trained token, plus a turn's reward at the turn's last trained token. A
    turn without trained tokens has no reward. With `whiten`: (A - m) / sqrt(v + 1e-8) over all tokens, exactly 0 where
    all A_t are equal. Raises ValueError without values.
    """
    advantage = _recursion(inputs, params)
    return whitened(advantage, params.ddof) if params.whiten else advantage, state, {}


def returns(inputs: AdvantageInputs, params: GaeParams) -> Floats:
    """Return A + V before whitening, [M], the targets of the critic. Raises ValueError without values."""
    return _recursion(inputs, params) + _values(inputs)


def explained(targets: Floats, residual: Floats) -> float:
    """Return 1 - var(residual) / var(targets), the explained variance of the critic; both arguments are [M].

    0 where the targets do not vary.
    """
    return float(1 - residual.var() / targets.var()) if varies(targets) else 0.0


def _recursion(inputs: AdvantageInputs, params: GaeParams) -> Floats:
    values, ends = _values(inputs), np.cumsum(inputs.tokens)
    ahead = np.append(values[1:], 0.0)
    ahead[ends - 1] = 0.0
    delta = _rewards(inputs) + params.gamma * ahead - values
    return discounted_sums(delta, inputs.tokens, params.gamma * params.lam)


def _values(inputs: AdvantageInputs) -> Floats:
    if inputs.values is None:
        raise ValueError("values: found none, expected the critic's value before each token")
    return inputs.values


def _rewards(inputs: AdvantageInputs) -> Floats:
    rewards = np.zeros(int(inputs.tokens.sum()))
    rewards[np.cumsum(inputs.tokens) - 1] += inputs.reward
    if inputs.turns is not None:
        trained = inputs.turns.tokens > 0
        rewards[np.cumsum(inputs.turns.tokens)[trained] - 1] += inputs.turns.reward[trained]
    return rewards


METHOD: Method[AdvantageInputs, Estimate] = Method(gae, GaeParams)
