"""Dual-Track GRPO of TRUST-SQL, arXiv 2603.16448; meant for `clip_higher` and `seq-mean-token-mean`."""

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import broadcast, group_metrics, group_z_score
from hone.algorithms.inputs import AdvantageInputs, Flags, Floats, Track
from hone.algorithms.method import Metrics, Params, State


class DualTrackParams(Params):
    """The weight of the schema's track, and the spans that mark a proposed schema."""

    schema_weight: float = Field(0.25, ge=0, description="lambda, the weight of the schema track's loss.")
    gated: bool = Field(
        True, description="Count the schema's reward only where the query's result is right (exec = 1).")
    bound: float = Field(10.0, gt=0, description="Advantages are clamped to +- this.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviation.")
    span: str = Field("schema", description="Name of the spans that propose a schema; the last such span counts.")

    def needs(self) -> frozenset[str]:
        """The reward parts exec, fmt and schema, and the spans that propose a schema."""
        return frozenset({"components", "spans"})


def dual_track(inputs: AdvantageInputs, params: DualTrackParams, state: State) -> tuple[list[Track], State, Metrics]:
    """full: z(exec + fmt) on all tokens; schema: z(1[exec = 1] schema) before the propose boundary, weight lambda.

    The boundary is behind the last token inside a span of that name. Without such a span no token is before it. The
    paper puts it behind that token's turn, or without a proposal behind the last exploring turn.
    z(x) = clamp((x - mean) / (population std + eps), -bound, bound) over the group's rows that have a reward. z is 0
    for other rows, with fewer than two rows, and where all rewards are equal. Raises KeyError without components.
    """
    full = inputs.components["exec"] + inputs.components["fmt"]
    schema = _paid(inputs.components["exec"], inputs.components["schema"], params.gated)
    inside = _before_boundary(inputs.inside(params.span), inputs)
    tracks = [
        Track("full", _advantage(full, inputs, params), np.ones_like(inside)),
        Track("schema", np.where(inside, _advantage(schema, inputs, params), 0.0), inside, params.schema_weight),
    ]
    return tracks, state, {**group_metrics(inputs), "full_reward": _mean(full), "schema_reward": _mean(schema)}


def _before_boundary(proposed: Flags, inputs: AdvantageInputs) -> Flags:
    place = np.arange(len(proposed))
    last = np.maximum.reduceat(np.where(proposed, place, -1), np.cumsum(inputs.tokens) - inputs.tokens)
    return place <= np.repeat(last, inputs.tokens)


def _paid(executed: Floats, schema: Floats, gated: bool) -> Floats:
    paid = np.where(executed == 1, schema, 0.0) if gated else schema
    return np.where(np.isnan(executed), np.nan, paid)


def _advantage(reward: Floats, inputs: AdvantageInputs, params: DualTrackParams) -> Floats:
    scores = group_z_score(reward, inputs.group, 0, params.eps).clip(-params.bound, params.bound)
    return broadcast(scores, inputs.tokens)


def _mean(reward: Floats) -> float:
    known = reward[np.isfinite(reward)]
    return float(known.sum() / max(1, len(known)))
