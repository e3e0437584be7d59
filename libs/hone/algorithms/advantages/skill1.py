"""Skill1, arXiv 2605.06130: three credits of one outcome, each for the tokens of its own stage."""

from typing import Literal

import numpy as np
from pydantic import Field

from hone.algorithms.advantages.statistics import group_metrics, group_z_score
from hone.algorithms.inputs import AdvantageInputs, Estimate, Flags, Floats, Track
from hone.algorithms.method import Method, Metrics, Params, State
from hone.trajectory.turns import Turns

_STAGES = {"query": "utilisation", "play": "utilisation", "rerank": "selection", "distill": "distillation"}


class Skill1Params(Params):
    """Weights of the stages."""

    selection_weight: float = Field(0.3, ge=0, description="lambda1, weight of the rerank turns' loss.")
    distillation_weight: float = Field(0.3, ge=0, description="lambda2, weight of the distill turns' loss.")
    baseline: Literal["none", "ema"] = Field("none", description="ema: take a running mean over batches off r_rank.")
    decay: float = Field(0.95, ge=0, lt=1, description="Weight of the running mean against a batch's mean.")
    eps: float = Field(1e-6, gt=0, description="Added to the standard deviations.")

    def needs(self) -> frozenset[str]:
        """Turns of the kinds query, play, rerank and distill, and the reward parts r_rank and r_dist."""
        return frozenset({"turns", "components", "kinds"})

    def remembers(self) -> bool:
        """Return whether the baseline is a mean over steps."""
        return self.baseline != "none"


def skill1(inputs: AdvantageInputs, params: Skill1Params, state: State) -> tuple[list[Track], State, Metrics]:
    """utilisation: z_group(R) on query and play; selection: r_rank - b, as REINFORCE; distillation: z_group(r_dist).

    z has the population's deviation and is exactly 0 where all values are equal. NaN rewards are ignored.
    b = 0, or with `ema` the first batch's mean r_rank, updated with each batch's mean after use.
    State: {rank_baseline}. Raises ValueError without turns or for another kind, KeyError without a component.
    """
    turns = _checked(inputs.turns)
    rank, distilled = inputs.components["r_rank"], inputs.components["r_dist"]
    reranked = np.isfinite(rank) & (_tokens_by_trajectory(turns, "selection", len(rank)) > 0)
    baseline, after = _baseline(rank[reranked], params, state)
    tracks = [
        _track("utilisation", group_z_score(inputs.reward, inputs.group, 0, params.eps), turns),
        _track("selection", np.where(reranked, rank - baseline, 0.0), turns, params.selection_weight, "reinforce"),
        _track("distillation", group_z_score(distilled, inputs.group, 0, params.eps), turns,
               params.distillation_weight),
    ]
    return tracks, after, {**group_metrics(inputs), **_rank_metrics(rank[reranked]), "rank_baseline": baseline}


def _checked(turns: Turns | None) -> Turns:
    if turns is None:
        raise ValueError("turns: found none, expected the trajectories' turns")
    if unknown := set(turns.kind) - set(_STAGES):
        raise ValueError(f"turns.kind: found {', '.join(sorted(unknown))}, expected one of {', '.join(_STAGES)}")
    return turns


def _of_stage(turns: Turns, stage: str) -> Flags:
    return np.array([_STAGES[kind] == stage for kind in turns.kind], dtype=bool)


def _tokens_by_trajectory(turns: Turns, stage: str, trajectories: int) -> Floats:
    own = np.where(_of_stage(turns, stage), turns.tokens, 0)
    return np.bincount(turns.trajectory, own, trajectories).astype(np.float64)


def _track(
    stage: str, advantage: Floats, turns: Turns, weight: float = 1.0, loss: Literal["policy", "reinforce"] = "policy",
) -> Track:
    own = _of_stage(turns, stage)
    values = np.where(own, advantage[turns.trajectory], 0.0)
    return Track(stage, np.repeat(values, turns.tokens), np.repeat(own, turns.tokens), weight, loss)


def _baseline(rank: Floats, params: Skill1Params, state: State) -> tuple[float, State]:
    if params.baseline == "none":
        return 0.0, state
    if not len(rank):
        return state.get("rank_baseline", 0.0), state
    mean = float(rank.mean())
    before = state.get("rank_baseline", mean)
    return before, {"rank_baseline": params.decay * before + (1 - params.decay) * mean}


def _rank_metrics(rank: Floats) -> Metrics:
    """Return the mean NDCG, and the number of ranks with NDCG 1, from which nothing is learned."""
    return {"ndcg": float(rank.sum() / max(1, len(rank))), "perfect_ranks": float((rank == 1).sum())}


METHOD: Method[AdvantageInputs, Estimate] = Method(skill1, Skill1Params, kinds=("query", "play", "rerank", "distill"),
                 components=("r_rank", "r_dist"))
