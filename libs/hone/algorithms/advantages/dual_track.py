"""Dual-Track GRPO of TRUST-SQL, arXiv 2603.16448; meant for `clip_higher` and `seq-mean-token-mean`."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, group_metrics, group_z_score
from hone.algorithms.inputs import AdvantageInputs, Estimate, Flags, Floats, Ints, Track
from hone.algorithms.method import Method, Metrics, Params, State


class DualTrackParams(Params):
    """The weight of the schema's track, and the spans that mark a proposed schema."""

    schema_weight: float = Field(0.25, ge=0, description="lambda, the weight of the schema track's loss.")
    fmt_weight: float = Field(
        1.0, ge=0, description="Factor of the reward fmt in the full track; 0.1, as in the paper, where fmt is 0 or 1.")
    gated: bool = Field(
        True, description="Count the schema's reward only where the query's result is right (exec = 1).")
    bound: float = Field(10.0, gt=0, description="Advantages are clamped to +- this.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation.")
    span: str = Field("schema", description="Name of the spans that propose a schema; the last such span counts.")
    explore: str | None = Field(
        None, description="Name of the spans that mark an exploring turn; null: the turns that the environment "
        "answered.")

    def needs(self) -> frozenset[str]:
        """The reward parts exec, fmt and schema, the spans that propose a schema, and the turns."""
        return frozenset({"components", "spans", "turns"})


def dual_track(inputs: AdvantageInputs, params: DualTrackParams, state: State) -> tuple[list[Track], State, Metrics]:
    """full: z(exec + fmt_weight fmt), on all tokens; schema: z(1[exec = 1] schema), before the propose boundary.

    The boundary is behind the last token inside a span of that name (the paper: behind a turn; the harness sql_phases
    makes whole turns such spans). A trajectory without such a span proposed nothing: its schema reward is 0, and its
    boundary is the end of its last exploring turn, or its beginning where it has none.
    z(x) = clamp((x - mean) / (population std + eps), -bound, bound) over the group's rows that have a reward. z is 0
    for other rows, with fewer than two rows, and where all rewards are equal. Raises KeyError without components.
    """
    full = inputs.components["exec"] + params.fmt_weight * inputs.components["fmt"]
    inside, proposed = _before_boundary(inputs, params)
    schema = np.where(proposed, inputs.components["schema"], 0.0)
    schema = _paid(inputs.components["exec"], schema, params.gated)
    tracks = [
        Track("full", _advantage(full, inputs, params), np.ones_like(inside)),
        Track("schema", np.where(inside, _advantage(schema, inputs, params), 0.0), inside, params.schema_weight),
    ]
    return tracks, state, {**group_metrics(inputs), "full_reward": _mean(full), "schema_reward": _mean(schema),
                           "unproposed_fraction": float(1 - proposed.mean())}


def _before_boundary(inputs: AdvantageInputs, params: DualTrackParams) -> tuple[Flags, Flags]:
    """Return which tokens are before the boundary, [M], and which trajectories proposed a schema, [B]."""
    begins = np.cumsum(inputs.tokens) - inputs.tokens
    last = _last(inputs.inside(params.span), begins)
    proposed = last >= 0
    last = np.where(proposed, last, _last(_exploring(inputs, params), begins))
    return np.arange(int(inputs.tokens.sum())) <= np.repeat(last, inputs.tokens), proposed


def _last(marked: Flags, begins: Ints) -> Ints:
    """Return the index of the last marked token of each trajectory, [B]; -1 where it has none."""
    last: Ints = np.maximum.reduceat(np.where(marked, np.arange(len(marked)), -1), begins)
    return last


def _exploring(inputs: AdvantageInputs, params: DualTrackParams) -> Flags:
    """Return which tokens belong to an exploring turn, [M]."""
    turns = inputs.turns
    if turns is None:
        return np.zeros(int(inputs.tokens.sum()), np.bool_)
    if params.explore is None:
        explores = np.zeros(len(turns.tokens), np.bool_) if turns.answered is None else turns.answered
    else:
        turn = np.repeat(np.arange(len(turns.tokens)), turns.tokens)
        explores = np.bincount(turn[inputs.inside(params.explore)], minlength=len(turns.tokens)) > 0
    return np.repeat(explores, turns.tokens)


def _paid(executed: Floats, schema: Floats, gated: bool) -> Floats:
    paid = np.where(executed == 1, schema, 0.0) if gated else schema
    return np.where(np.isnan(executed), np.nan, paid)


def _advantage(reward: Floats, inputs: AdvantageInputs, params: DualTrackParams) -> Floats:
    scores = group_z_score(reward, inputs.group, 0, params.eps).clip(-params.bound, params.bound)
    return broadcast(scores, inputs.tokens)


def _mean(reward: Floats) -> float:
    known = reward[np.isfinite(reward)]
    return float(known.sum() / max(1, len(known)))


METHOD: Method[AdvantageInputs, Estimate] = Method(
    dual_track, DualTrackParams, needs_peers=True, components=("exec", "fmt", "schema"))
