"""S8: averaged how? A mean over the whole step, written as one weight for each token of a trajectory.

The step's loss is sum_i w_i sum_t loss_it. The weights come from counts of the whole step before any micro-batch
runs, so the loss does not depend on how the step is cut. "Sequence" is a trajectory, however many rows it packs into.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State


@dataclass(frozen=True)
class AggregationInputs:
    """Tokens of each counted trajectory that are averaged [B], and the run's longest completion in tokens.

    A trajectory that counts and has none of them, as in a track of its own, weighs nothing and stays in B.
    """

    tokens: Ints
    max_tokens: int


class PerTurn(Params):
    """Parameters of a method that averages over turns: its inputs' tokens and its weights are those of turns."""

    def needs(self) -> frozenset[str]:
        """Where the turns begin and end."""
        return frozenset({"turns"})


class Horizon(Params):
    """The constant divisor of Dr. GRPO, arXiv 2503.20783."""

    horizon: int | None = Field(None, ge=1, description="Tokens; null: the run's longest completion.")


def token_mean(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / sum_j tokens_j."""
    return np.full(len(inputs.tokens), 1 / max(1, inputs.tokens.sum())), state, {}


def seq_mean_token_mean(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / (B tokens_i)."""
    return 1 / (len(inputs.tokens) * np.maximum(inputs.tokens, 1)), state, {}


def seq_mean_token_sum(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / B."""
    return np.full(len(inputs.tokens), 1 / len(inputs.tokens)), state, {}


def seq_mean_token_sum_norm(inputs: AggregationInputs, params: Horizon, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / (B horizon)."""
    horizon = params.horizon or inputs.max_tokens
    return np.full(len(inputs.tokens), 1 / (len(inputs.tokens) * horizon)), state, {}


def turn_mean(inputs: AggregationInputs, params: PerTurn, state: State) -> tuple[Floats, State, Metrics]:
    """w_t = 1 / (T tokens_t), T the turns of the step that have tokens; 0 for the others. DuCA, arXiv 2603.01481.

    A reconstruction; `inputs.tokens` are those of each turn.
    """
    counted = inputs.tokens > 0
    return np.where(counted, 1 / (max(1, counted.sum()) * np.maximum(inputs.tokens, 1)), 0.0), state, {}


AGGREGATIONS: Mapping[str, Method[AggregationInputs, Floats]] = {
    "token-mean": Method(token_mean),
    "seq-mean-token-mean": Method(seq_mean_token_mean),
    "seq-mean-token-sum": Method(seq_mean_token_sum),
    "seq-mean-token-sum-norm": Method(seq_mean_token_sum_norm, Horizon),
    "turn-mean": Method(turn_mean, PerTurn),
}
