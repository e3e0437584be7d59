"""RDPO, reward-decorrelated policy optimization, arXiv 2605.13641. A reconstruction.

The paper names the two stages, their order and their properties. The formulas are Hone's.
"""

import json
from collections.abc import Mapping
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.rdpo_dimensions import (
    LARGEST,
    Dimensions,
    RewardBucket,
    bucket_metrics,
    correlation_metrics,
    dimension_metrics,
    read,
)
from hone.algorithms.advantages.statistics import broadcast, varies
from hone.algorithms.inputs import AdvantageInputs, Estimate, Floats, Ints
from hone.algorithms.method import Method, Metrics, Params, State

_DEAD = 1e-10
"""A dimension whose scores have a smaller mean square is left out of whitening."""

_SMALLEST = 1e-8
"""Smallest divisor, for reference ranges and the batch's RMS."""


class RdpoParams(Params):
    """How each reward dimension is scored inside its group, and how dimensions are decorrelated over the batch."""

    weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict, description="Factor of each component by its name; default 1.")
    omega: float = Field(0.5, ge=0, le=1, description="Share of the magnitude score; the rank score has the rest.")
    rank: Literal["uniform", "gauss"] = Field("uniform", description="Rank score: 2u - 1, or the normal quantile of u.")
    reference: dict[str, Annotated[float, Field(gt=0, le=LARGEST)]] = Field(
        default_factory=dict, description="Fixed reference range by component, in its unit; others use a running one.")
    decay: float = Field(0.99, ge=0, le=1, description="Factor of a running reference range for each step.")
    shrinkage: float = Field(
        0.05, ge=0, le=1, description="lambda, the share taken off the covariance's other elements than the diagonal.")
    few_shrinkage: float = Field(0.3, ge=0, le=1, description="Smallest shrinkage of a bucket with few rows.")
    few_rows: int = Field(10, ge=0, description="A bucket with fewer rows for each dimension has few rows.")
    eps: float = Field(1e-3, ge=1e-12, le=1, description="Share of the mean variance added to the diagonal.")
    rho: float = Field(0.0, ge=0, lt=1, description="Weight of earlier steps' covariance; 0.9 for small batches.")
    min_rows: int = Field(4, ge=0, description="A bucket with fewer rows for each dimension is not whitened.")
    min_groups: int = Field(2, ge=1, description="A bucket with fewer groups is not whitened.")
    rescale: Literal["none", "batch_rms"] = Field(
        "batch_rms", description="batch_rms: scale A so that its RMS over the batch is 1.")

    def needs(self) -> frozenset[str]:
        """The parts of the reward."""
        return frozenset({"components"})

    def remembers(self) -> bool:
        """Return True: reference ranges and covariances are means over steps."""
        return True


def rdpo(inputs: AdvantageInputs, params: RdpoParams, state: State) -> tuple[Floats, State, Metrics]:
    """A_i = sum_k w_k y_ik / sqrt(sum_k w_k^2), y_i = W z_i over the group's active dimensions; then A / RMS(A).

    z: `quantile_scores` of each component inside its group, D_ref,k = max(median range, decay * previous D_ref,k).
    W: `whitening` of C_bar = rho C_bar_prev + (1 - rho) Z'Z / n over the rows of one active set, or diag(1 / RMS)
    with few rows, groups or dimensions. A component that is NaN in some rows of a group scores 0 in them. A row with an
    infinite component has A = 0 and is in no statistic. RMS(A) is over the groups in which some dimension varies.
    A source of a mixture is an active set of its own: its components are dimensions of their own, so that neither
    ranges nor covariances of sources meet.
    State: {d_ref: by dimension, c_bar: by active set}. Raises ValueError without components.
    """
    table = read(inputs)
    running = _running_references(table, params.decay, state.get("d_ref", {}))
    fixed = {name: params.reference[part] for name, part in zip(table.names, table.parts, strict=True)
             if part in params.reference}
    references = {**running, **fixed}
    scores = _scores(table, references, params)
    buckets = _buckets(table, scores, params, state.get("c_bar", {}))
    whitened, advantage = np.where(np.isnan(scores), np.nan, 0.0), np.zeros_like(inputs.reward)
    for bucket in buckets:
        part = scores[np.ix_(bucket.rows, bucket.live)]
        whitened[np.ix_(bucket.rows, bucket.live)] = part @ bucket.matrix
        advantage[bucket.rows] = part @ bucket.weights
    if params.rescale == "batch_rms":
        advantage = advantage / _scale(advantage, table.varied())
    metrics = {**dimension_metrics(table, scores, references), **bucket_metrics(table.names, buckets),
               **correlation_metrics(table, scores, whitened, advantage)}
    return broadcast(advantage, inputs.tokens), _carried(running, buckets, state), metrics


def quantile_scores(rewards: Floats, reference: float, params: RdpoParams) -> Floats:
    """Stage 1: z = m ((1 - omega) q + omega v) over the rewards [G] of one group in one dimension.

    q_j = 2 u_j - 1 with the mid-rank u_j = (#{r < r_j} + #{r = r_j} / 2) / G; v_j = (r_j - mean) / D, D = max - min;
    m = min(1, D / max(reference, 1e-8)). Exactly 0 where the rewards do not vary.
    """
    if not varies(rewards):
        return np.zeros_like(rewards)
    below, equal = rewards[:, None] > rewards, rewards[:, None] == rewards
    ranks = _rank_scores((below.sum(axis=1) + equal.sum(axis=1) / 2) / len(rewards), params.rank)
    extent = np.ptp(rewards)
    spread = min(1.0, extent / max(reference, _SMALLEST))
    scores: Floats = spread * ((1 - params.omega) * ranks + params.omega * (rewards - rewards.mean()) / extent)
    return scores


def whitening(covariance: Floats, shrinkage: float, eps: float) -> Floats:
    """Stage 2: W = U diag(e^-1/2) U' of C_l = (1 - l) C + l diag(C) + eps (tr C / |S|) I = U diag(e) U'."""
    diagonal = np.diag(covariance)
    regular = (1 - shrinkage) * covariance + np.diag(shrinkage * diagonal + eps * diagonal.mean())
    values, vectors = np.linalg.eigh(regular)
    root: Floats = vectors / np.sqrt(values) @ vectors.T
    return root


def _running_references(table: Dimensions, decay: float, earlier: Mapping[str, float]) -> dict[str, float]:
    medians = {name: float(np.median(extents[extents > 0])) if (extents > 0).any() else 0.0
               for name, extents in zip(table.names, table.ranges.T, strict=True)}
    return {name: max(medians.get(name, 0.0), decay * earlier.get(name, 0.0)) for name in {**earlier, **medians}}


def _rank_scores(quantiles: Floats, rank: str) -> Floats:
    if rank == "uniform":
        return 2 * quantiles - 1
    normal = np.array([NormalDist().inv_cdf(u) for u in quantiles])
    centred: Floats = normal - normal.mean()
    return centred


def _scores(table: Dimensions, references: Mapping[str, float], params: RdpoParams) -> Floats:
    scores = np.full_like(table.rewards, np.nan)
    for rows, extents in zip(table.groups, table.ranges, strict=True):
        for k in np.flatnonzero(~np.isnan(extents)):
            present = rows[~np.isnan(table.rewards[rows, k])]
            scores[rows, k] = 0.0
            scores[present, k] = quantile_scores(table.rewards[present, k], references[table.names[k]], params)
    return scores


def _buckets(table: Dimensions, scores: Floats, params: RdpoParams, earlier: Mapping[str, Any]) -> list[RewardBucket]:
    groups: dict[tuple[int, ...], list[Ints]] = {}
    for rows, extents in zip(table.groups, table.ranges, strict=True):
        groups.setdefault(tuple(np.flatnonzero(~np.isnan(extents)).tolist()), []).append(rows)
    return [_bucket(table, scores, np.array(active), found, params, earlier)
            for active, found in groups.items() if active]


def _bucket(
    table: Dimensions, scores: Floats, active: Ints, groups: list[Ints], params: RdpoParams, earlier: Mapping[str, Any]
) -> RewardBucket:
    rows = np.concatenate(groups)
    live = active[(scores[np.ix_(rows, active)] ** 2).mean(axis=0) >= _DEAD]
    part, names = scores[np.ix_(rows, live)], [table.names[k] for k in live]
    weights = _unit([params.weights.get(table.parts[k], 1.0) for k in live])
    covariance = part.T @ part / len(rows)
    if len(live) < 2 or len(rows) < params.min_rows * len(live) or len(groups) < params.min_groups:
        matrix = np.diag(1 / np.sqrt(np.diag(covariance)))
        return RewardBucket(rows, live, matrix, matrix @ weights)
    key = json.dumps([[table.names[k] for k in active], names])
    if key in earlier:
        covariance = params.rho * np.array(earlier[key]) + (1 - params.rho) * covariance
    few = len(rows) < params.few_rows * len(live)
    shrinkage = max(params.shrinkage, params.few_shrinkage) if few else params.shrinkage
    matrix = whitening(covariance, shrinkage, params.eps)
    return RewardBucket(rows, live, matrix, matrix @ weights, {key: covariance.tolist()})


def _unit(weights: list[float]) -> Floats:
    # Divide by the largest weight first: the square of a tiny weight would be 0.
    largest = max(weights, default=0.0)
    scaled = np.array(weights) / largest if largest else np.zeros(len(weights))
    unit: Floats = scaled / np.sqrt((scaled ** 2).sum() or 1.0)
    return unit


def _scale(advantage: Floats, varied: list[Ints]) -> float:
    rms = float(np.sqrt((advantage[np.concatenate(varied)] ** 2).mean())) if varied else 0.0
    return rms if rms > _SMALLEST else 1.0


def _carried(running: dict[str, float], buckets: list[RewardBucket], state: State) -> State:
    covariances = {key: covariance for bucket in buckets for key, covariance in bucket.covariance.items()}
    return {"d_ref": running, "c_bar": {**state.get("c_bar", {}), **covariances}}


METHOD: Method[AdvantageInputs, Estimate] = Method(rdpo, RdpoParams, needs_peers=True, excludes={
    ("reward", "overlong"): "which shapes the sum; rdpo reads the parts of a reward"})
