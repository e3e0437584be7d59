"""REINFORCE++, arXiv 2501.03262, and its variant with a group baseline."""

from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, discounted_sums, group_metrics, members, varies, whitened
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats
from hone.algorithms.method import Method, Metrics, Params, State


class WhitenParams(Params):
    """The normalisation of advantages over the tokens of the batch."""

    ddof: Literal[0, 1] = Field(0, description="0: population variance; 1: Bessel's correction, as in verl.")


class ReinforcePpParams(WhitenParams):
    """The reward of a token, and its return."""

    beta: float = Field(0.0, ge=0, description="Weight of logp_old - logp_ref, which is taken off each token's reward.")
    gamma: float = Field(1.0, ge=0, le=1, description="Discount of a reward for each token between it and the token.")

    def needs(self) -> frozenset[str]:
        """The reference's log-probabilities, with beta above 0."""
        return frozenset({"logp_ref"}) if self.beta else frozenset()


def reinforce_pp(inputs: AdvantageInputs, params: ReinforcePpParams, state: State) -> tuple[Floats, State, Metrics]:
    """A = (G_t - m) / sqrt(v + 1e-8), G_t = r_t + gamma G_{t+1}, r_t = 1[t last] R - beta (logp_old_t - logp_ref_t).

    m and v are over all trained tokens of the batch. A is exactly 0 where all G_t are equal.
    """
    rewards = np.zeros(int(inputs.tokens.sum())) if inputs.kl is None else -params.beta * inputs.kl
    ends = np.cumsum(inputs.tokens)
    rewards[ends - 1] += inputs.reward
    returns = discounted_sums(rewards, inputs.tokens, params.gamma)
    return whitened(returns, params.ddof), state, {"mean_return": float(returns.mean())}


def reinforce_pp_baseline(inputs: AdvantageInputs, params: WhitenParams, state: State) -> tuple[Floats, State, Metrics]:
    """A = (C_t - m) / sqrt(v + 1e-8), C_t = R_i - mean over the group, for every trained token t of i.

    m and v are over all trained tokens of the batch. A group that does not vary has A = 0, also after whitening.
    """
    centred = np.zeros_like(inputs.reward)
    flat = np.ones(len(inputs.reward), dtype=bool)
    for rows in members(inputs.group):
        reward = inputs.reward[rows]
        if varies(reward):
            centred[rows], flat[rows] = reward - reward.mean(), False
    advantage = whitened(broadcast(centred, inputs.tokens), params.ddof)
    advantage[np.repeat(flat, inputs.tokens)] = 0.0
    return advantage, state, group_metrics(inputs)


REINFORCE_PP: Method[AdvantageInputs, Estimate] = Method(reinforce_pp, ReinforcePpParams)
REINFORCE_PP_BASELINE: Method[AdvantageInputs, Estimate] = Method(reinforce_pp_baseline, WhitenParams, needs_peers=True)
