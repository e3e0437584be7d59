"""Aggregations (S8): means over the whole step, as one weight w_i for each token of a trajectory i.

The step's loss is sum_i w_i sum_t loss_it. The weights are computed from the whole step before the first micro-batch,
so the loss does not depend on the cut into micro-batches. A "sequence" is a trajectory, in one or several packed rows.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State


@dataclass(frozen=True)
class AggregationInputs:
    """Aggregation (S8): the counted tokens of B trajectories.

    A trajectory without counted tokens, as in a track that has none of its tokens, stays in B.
    """

    tokens: Ints  # [B], counted tokens of each trajectory
    max_tokens: int  # the run's longest completion, in tokens
    group: Ints | None = None  # [B], number of each trajectory's group; None: each is a group of its own


class PerTurn(Params):
    """Parameters of a method that averages over turns instead of trajectories, in inputs and weights."""

    def needs(self) -> frozenset[str]:
        """The turns of each trajectory."""
        return frozenset({"turns"})


class Horizon(Params):
    """The constant divisor of Dr. GRPO, arXiv 2503.20783."""

    horizon: int | None = Field(
        None, ge=1, description="Divisor of each trajectory's sum, in tokens; null: the run's longest completion.")


def token_mean(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / sum_j tokens_j."""
    return np.full(len(inputs.tokens), 1 / max(1, inputs.tokens.sum())), state, {}


def seq_mean_token_mean(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / (B tokens_i)."""
    return 1 / (len(inputs.tokens) * np.maximum(inputs.tokens, 1)), state, {}


def seq_mean_token_sum(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / B."""
    return np.full(len(inputs.tokens), 1 / len(inputs.tokens)), state, {}


def token_sum(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1, for advantages that are weights of a whole step already."""
    return np.ones(len(inputs.tokens)), state, {}


def seq_mean_token_sum_norm(inputs: AggregationInputs, params: Horizon, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / (B horizon)."""
    horizon = params.horizon or inputs.max_tokens
    return np.full(len(inputs.tokens), 1 / (len(inputs.tokens) * horizon)), state, {}


def turn_mean(inputs: AggregationInputs, params: PerTurn, state: State) -> tuple[Floats, State, Metrics]:
    """w_t = 1 / (T tokens_t), with T the turns that have tokens; 0 for other turns. DuCA, arXiv 2603.01481.

    A reconstruction. `inputs.tokens` holds the tokens of each turn.
    """
    counted = inputs.tokens > 0
    return np.where(counted, 1 / (max(1, counted.sum()) * np.maximum(inputs.tokens, 1)), 0.0), state, {}


def prompt_mean(inputs: AggregationInputs, params: Params, state: State) -> tuple[Floats, State, Metrics]:
    """w_i = 1 / (G k_i tokens_i), G groups, k_i trajectories in the group of i: prompts count alike, however many.

    V0.5, arXiv 2603.10848. A reconstruction.
    """
    if inputs.group is None:
        return seq_mean_token_mean(inputs, params, state)
    _, own, sizes = np.unique(inputs.group, return_inverse=True, return_counts=True)
    return 1 / (len(sizes) * sizes[own] * np.maximum(inputs.tokens, 1)), state, {}


TOKEN_MEAN: Method[AggregationInputs, Floats] = Method(token_mean)
SEQ_MEAN_TOKEN_MEAN: Method[AggregationInputs, Floats] = Method(seq_mean_token_mean)
SEQ_MEAN_TOKEN_SUM: Method[AggregationInputs, Floats] = Method(seq_mean_token_sum)
SEQ_MEAN_TOKEN_SUM_NORM: Method[AggregationInputs, Floats] = Method(seq_mean_token_sum_norm, Horizon)
TURN_MEAN: Method[AggregationInputs, Floats] = Method(turn_mean, PerTurn)
PROMPT_MEAN: Method[AggregationInputs, Floats] = Method(prompt_mean)
TOKEN_SUM: Method[AggregationInputs, Floats] = Method(token_sum)
