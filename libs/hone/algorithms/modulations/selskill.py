"""SelSkill's joint objective over pairs, arXiv 2606.00510 (reconstruction), as the weight of each side's tokens.

A pair is a DPO pair, arXiv 2305.18290. Episode pairs compare whole episodes, step pairs the continuations of a turn.
"""

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Flags, Floats, Ints, ModulationInputs
from hone.algorithms.method import Method, Metrics, Params, State
from hone.algorithms.preferences import SIDES


class SelskillParams(Params):
    """The sharpness of the preference, and the weights of step pairs and of the winners' likelihood."""

    beta: float = Field(0.1, gt=0, le=100, description="Factor of the difference of log-ratios, per nat.")
    length_norm: bool = Field(False, description="Divide each side's sum by its number of tokens.")
    alpha: float = Field(1.0, ge=0, description="Weight of step pairs; 0: episode pairs only.")
    c_nll: float = Field(0.05, ge=0, description="Weight of the winners' negative log-likelihood, per nat.")

    def needs(self) -> frozenset[str]:
        """The reference: the log-probabilities before the step's first update."""
        return frozenset({"logp_old"})


def selskill(inputs: ModulationInputs, params: SelskillParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t = -dL/dlogp_t of L = L_episode + alpha L_step, [M], for loss `reinforce` and aggregation `token-sum`.

    L_kind = mean over its pairs of -log sigmoid(h) + c_nll * mean of -logp over all of its pairs' winner tokens; 0
    without a pair. h = beta (s_winner - s_loser), s = sum of logp - logp_old over a side's tokens. The signs of the
    advantages name the winner. A side without another one gets 0. Raises ValueError without log-probabilities.
    """
    if inputs.logp is None or inputs.logp_old is None or inputs.group is None:
        raise ValueError("logp, logp_old, group: found none, expected both log-probabilities and the pair of each side")
    owner = np.repeat(np.arange(len(inputs.tokens)), inputs.tokens)
    divisor = np.maximum(inputs.tokens, 1) if params.length_norm else np.ones(len(inputs.tokens))
    ratios = np.bincount(owner, inputs.logp - inputs.logp_old, len(divisor)) / divisor
    likelihood = np.bincount(owner, inputs.logp, len(divisor))
    pairs, side, metrics = _pairs(inputs, owner), np.zeros(len(divisor)), Metrics()
    step = np.array([inputs.kind[winner] in SIDES for winner, _ in pairs], np.bool_)
    for name, own, weight in (("episode", pairs[~step], 1.0), ("step", pairs[step], params.alpha)):
        if len(own):
            winner, loser = own.T
            margin = params.beta * (ratios[winner] - ratios[loser])
            push = weight * params.beta * np.exp(-np.logaddexp(0.0, margin)) / len(own)
            tokens = inputs.tokens[winner].sum()
            side[winner] += push / divisor[winner] + weight * params.c_nll / tokens
            side[loser] -= push / divisor[loser]
            metrics |= _metrics(name, margin, float(likelihood[winner].sum() / tokens))
    return side[owner], state, metrics


def _pairs(inputs: ModulationInputs, owner: Ints) -> Ints:
    """Return the indices of the winner and of the loser of each whole pair, [P, 2]."""
    sign = np.zeros(len(inputs.tokens))
    sign[owner] = np.sign(inputs.advantage)
    group = np.zeros(0, np.int64) if inputs.group is None else inputs.group
    places = [_single(group, sign == wanted) for wanted in (1, -1)]
    whole = (places[0] >= 0) & (places[1] >= 0)
    return np.column_stack([each[whole] for each in places])


def _single(group: Ints, chosen: Flags) -> Ints:
    """Return the index of the only chosen trajectory of each group number, -1 where there is none or several."""
    count, place = np.zeros(int(group.max(initial=-1)) + 1, np.int64), np.flatnonzero(chosen)
    found = np.full(len(count), -1)
    np.add.at(count, group[place], 1)
    found[group[place]] = place
    return np.where(count == 1, found, -1)


def _metrics(name: str, margin: Floats, likelihood: float) -> Metrics:
    return {f"{name}_pairs": float(len(margin)), f"{name}_loss": float(np.logaddexp(0.0, -margin).mean()),
            f"{name}_margin": float(margin.mean()), f"{name}_accuracy": float((margin > 0).mean()),
            f"{name}_winner_logp": likelihood}


METHOD: Method[ModulationInputs, Floats] = Method(selskill, SelskillParams, every_update=True, builder="selskill")
