"""DPO, arXiv 2305.18290, as an estimator: the weight of each side of a pair, before the update."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, members
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State


class DpoParams(Params):
    """The sharpness of the preference."""

    beta: float = Field(0.1, gt=0, le=100, description="Factor of the difference of log-ratios, per nat.")
    length_norm: bool = Field(False, description="Divide each side's sum by its number of tokens.")

    def needs(self) -> frozenset[str]:
        """Both sides' log-ratios to the reference."""
        return frozenset({"logp_old", "logp_ref"})


def dpo(inputs: AdvantageInputs, params: DpoParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_t = +-2 beta sigmoid(-h), with + on the preferred side; h = beta (s+ - s-), s = sum of logp_old - logp_ref.

    With loss `reinforce` and aggregation `seq-mean-token-sum` the gradient is that of the mean over pairs of
    -log sigmoid(h), exactly for the first update of a step. A pair is a group of two with different rewards; other
    groups get 0. With `length_norm` both sums and A are divided by the side's tokens. Raises ValueError without
    log-ratios.
    """
    if inputs.kl is None:
        raise ValueError("logp_ref: found none, expected the reference's log-probabilities")
    sums = np.add.reduceat(inputs.kl, np.cumsum(inputs.tokens) - inputs.tokens)
    divisor = inputs.tokens if params.length_norm else np.ones_like(inputs.tokens)
    ratios, advantage = sums / divisor, np.zeros(len(inputs.tokens))
    pairs = _pairs(inputs)
    margins = params.beta * (ratios[pairs[:, 0]] - ratios[pairs[:, 1]])
    weights = 2 * params.beta * np.exp(-np.logaddexp(0.0, margins))
    advantage[pairs[:, 0]], advantage[pairs[:, 1]] = weights, -weights
    return broadcast(advantage / divisor, inputs.tokens), state, _metrics(margins, len(advantage))


def _pairs(inputs: AdvantageInputs) -> Ints:
    """Return the indices of the preferred and of the other side of each pair, [P, 2]."""
    found = [rows[np.argsort(-inputs.reward[rows])] for rows in members(inputs.group)
             if len(rows) == 2 and inputs.reward[rows[0]] != inputs.reward[rows[1]]]
    return np.array(found, np.int64).reshape(-1, 2)


def _metrics(margins: Floats, sides: int) -> Metrics:
    counts = {"pairs": float(len(margins)), "unpaired": float(sides - 2 * len(margins))}
    if not len(margins):
        return counts
    return {**counts, "pair_loss": float(np.logaddexp(0.0, -margins).mean()), "pair_margin": float(margins.mean()),
            "pair_accuracy": float((margins > 0).mean())}


METHOD: Method[AdvantageInputs, Estimate] = Method(dpo, DpoParams, builder="pairs")
