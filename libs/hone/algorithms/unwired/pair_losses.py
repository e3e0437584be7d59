"""DPO, arXiv 2305.18290, on masked pairs; and SelSkill's joint objective, arXiv 2606.00510 (reconstruction)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from hone.algorithms.method import Metrics, Params, State

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class PairInputs:
    """M trained tokens of P pairs, float32. The caller leaves out pairs with a side without tokens."""

    logp: "Tensor"  # [M], current weights, with gradient, nats
    logp_ref: "Tensor"  # [M], weights at the start of the round, nats
    pair: "Tensor"  # int64 [M], index of the token's pair, below P
    winner: "Tensor"  # bool [M], whether the token is on the preferred side
    local: "Tensor"  # bool [P], whether the pair compares continuations of a step, or else whole episodes
    pairs: "Tensor | None" = None  # [2], episode and step pairs of the whole update; None: these are all
    winner_tokens: "Tensor | None" = None  # [2], trained tokens of their winners; None: these are all

    def sums(self, values: "Tensor", chosen: "Tensor") -> "Tensor":
        """Return the sum of `values` [M] over each pair's `chosen` tokens, [P]."""
        kept = values.masked_fill(~chosen, 0.0)
        return values.new_zeros(len(self.local)).index_add(0, self.pair, kept)

    def by_kind(self, values: "Tensor") -> "Tensor":
        """Return the sum of `values` [P] over episode pairs and over step pairs, [2]."""
        return values.new_zeros(2).index_add(0, self.local.long(), values)


class PairLossParams(Params):
    """The sharpness of the preference."""

    beta: float = Field(0.1, gt=0, le=100, description="Factor of the difference of log-ratios, per nat.")
    length_norm: bool = Field(False, description="Divide each side's sum by its number of tokens.")

    def needs(self) -> frozenset[str]:
        """The reference's log-probabilities."""
        return frozenset({"logp_ref"})


class SelskillParams(PairLossParams):
    """Weights of step pairs and of the winners' likelihood."""

    alpha: float = Field(1.0, ge=0, description="Weight of step pairs; 0: episode pairs only.")
    c_nll: float = Field(0.05, ge=0, description="Weight of the winners' negative log-likelihood, per nat.")


def dpo(inputs: PairInputs, params: PairLossParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """-log sigmoid(h) of each pair, [P]; h = beta [sum over the winner of (logp - logp_ref) - that over the loser]."""
    margin = params.beta * (_side(inputs, inputs.winner, params) - _side(inputs, ~inputs.winner, params))
    loss = (-margin).logaddexp(margin.new_zeros(margin.shape))
    won = margin.detach()
    return loss, state, {"margin": float(won.mean()), "accuracy": float((won > 0).float().mean())}


def selskill(inputs: PairInputs, params: SelskillParams, state: State) -> "tuple[Tensor, State, Metrics]":
    """Each pair's part of L = L_episode + alpha L_step, [P]; they sum to L over the whole update.

    L_kind = mean over its pairs of -log sigmoid(h) + c_nll * mean of -logp over all of its pairs' winner tokens.
    """
    loss, state, metrics = dpo(inputs, params, state)
    kind, unit = inputs.local.long(), loss.new_ones(len(inputs.local))
    tokens = inputs.sums(loss.new_ones(len(inputs.pair)), inputs.winner)
    pairs = inputs.by_kind(unit) if inputs.pairs is None else inputs.pairs
    winner_tokens = inputs.by_kind(tokens) if inputs.winner_tokens is None else inputs.winner_tokens
    likelihood = -inputs.sums(inputs.logp, inputs.winner) / winner_tokens[kind].clamp(min=1)
    weight = unit.masked_fill(inputs.local, params.alpha)
    return weight * (loss / pairs[kind] + params.c_nll * likelihood), state, metrics


def _side(inputs: PairInputs, chosen: "Tensor", params: PairLossParams) -> "Tensor":
    total = inputs.sums(inputs.logp - inputs.logp_ref, chosen)
    if not params.length_norm:
        return total
    return total / inputs.sums(total.new_ones(len(inputs.pair)), chosen).clamp(min=1)
