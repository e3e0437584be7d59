"""Phase A: what a step's slots fix over the whole batch before any micro-batch runs. numpy in, tensors out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.advantages.inputs import AdvantageInputs, Estimate, Track
from hone.algorithms.aggregations import AGGREGATIONS, AggregationInputs
from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.corrections.inputs import CorrectionInputs
from hone.algorithms.losses import LOSSES
from hone.algorithms.losses.clip import ClipParams
from hone.algorithms.method import Metrics, State
from hone.algorithms.modulations import MODULATIONS
from hone.algorithms.modulations.inputs import ModulationInputs
from hone.algorithms.slots import needs
from hone.trajectory.packing import Batch, Flags, Floats
from hone.trajectory.plan import StepPlan

Known = Mapping[str, Floats]
"""What a forward over the whole batch told of its trained tokens, [M] each, by the names that `needs` uses."""


@dataclass(frozen=True)
class Term:
    """One part of the policy loss: M trained tokens with the advantage and the weight that each has in it."""

    name: str
    advantage: Tensor  # float32 [M]
    unmodulated: Tensor  # float32 [M], before S5
    scale: Tensor  # float32 [M], 0 where the token is not of this part
    loss: str | None  # policy loss of this part alone; None: what S7 is filled with


@dataclass(frozen=True)
class Signals:
    """What phase A fixes for a step of B trajectories and M trained tokens."""

    terms: list[Term]
    scale: Tensor  # float32 [B], weight of each of a trajectory's tokens in what regularizes
    kept: Flags  # [B], False where the gradient is provably zero
    mean_weight: float  # of S6 over the step, where it is to be 1
    metrics: Metrics


def estimate(batch: Batch, plan: StepPlan, known: Known, states: dict[str, State]) -> Signals:
    """Apply S4, S5 and S8 to a batch that is not empty; `known` has what the fillings of S4 and S5 need.

    The slots' new state replaces the old in `states`.
    """
    estimated, metrics = _apply(ADVANTAGES, "advantage", plan, _advantage_inputs(batch, plan, known), states)
    tracks = _tracks(estimated, batch)
    modulated, told = _modulated(tracks, batch, plan, known, states)
    terms = [_term(track, before, batch, plan) for before, track in zip(tracks, modulated, strict=True)]
    scale = _scale(batch.tokens, plan)
    return Signals(terms, torch.from_numpy(scale).float(), _kept(terms, batch, plan.slots),
                   _mean_weight(batch, plan, known), {**metrics, **told})


def _advantage_inputs(batch: Batch, plan: StepPlan, known: Known) -> AdvantageInputs:
    kl = known["logp_old"] - known["logp_ref"] if "logp_ref" in known else None
    return AdvantageInputs(
        batch.reward, batch.group, batch.tokens, batch.baseline, kl, logp_old=known.get("logp_old"),
        components=batch.components, turns=batch.turns, step=plan.n - 1, steps=plan.steps)


def _apply(
    methods: Mapping[str, Any], slot: str, plan: StepPlan, inputs: Any, states: dict[str, State]
) -> tuple[Any, Metrics]:
    filling = plan.slots[slot]
    outputs, states[slot], metrics = methods[filling["name"]](inputs, filling["params"], states.get(slot, {}))
    return outputs, metrics


def _tracks(estimated: Estimate, batch: Batch) -> list[Track]:
    if isinstance(estimated, list):
        return estimated
    return [Track("policy", estimated, np.ones(int(batch.tokens.sum()), np.bool_))]


def _modulated(
    tracks: Sequence[Track], batch: Batch, plan: StepPlan, known: Known, states: dict[str, State]
) -> tuple[list[Track], Metrics]:
    """Apply S5 to the tracks that the policy loss of S7 takes."""
    told: Metrics = {}
    advantages = []
    for track in tracks:
        advantage, metrics = track.advantage, Metrics()
        if track.loss == "policy":
            inputs = _modulation_inputs(track, batch, plan, known)
            advantage, metrics = _apply(MODULATIONS, "modulation", plan, inputs, states)
        told |= {f"modulation/{name}": value for name, value in metrics.items()}
        advantages.append(advantage)
    return [replace(track, advantage=new) for track, new in zip(tracks, advantages, strict=True)], told


def _modulation_inputs(track: Track, batch: Batch, plan: StepPlan, known: Known) -> ModulationInputs:
    low, high = _band(plan)
    return ModulationInputs(
        track.advantage, batch.tokens, known.get("logp_old"), known.get("logp_old"), known.get("entropy"),
        known.get("expected"), step=plan.n - 1, clip_low=low, clip_high=high)


def _band(plan: StepPlan) -> tuple[float, float]:
    """Return how far below and above 1 the loss lets a token's ratio move; no bounds where it has none."""
    params = LOSSES[plan.slots["loss"]["name"]].params.model_validate(plan.slots["loss"]["params"])
    return params.token_band() if isinstance(params, ClipParams) else (1.0, np.inf)


def _term(before: Track, track: Track, batch: Batch, plan: StepPlan) -> Term:
    tokens = np.add.reduceat(track.counts.astype(np.int64), batch.offsets)
    weights = np.repeat(_scale(tokens, plan), batch.tokens) * track.counts * track.weight
    advantage, unmodulated, scale = (
        torch.from_numpy(values).float() for values in (track.advantage, before.advantage, weights))
    return Term(track.name, advantage, unmodulated, scale, None if track.loss == "policy" else track.loss)


def _scale(tokens: Any, plan: StepPlan) -> Floats:
    filling = plan.slots["aggregation"]
    scale, _, _ = AGGREGATIONS[filling["name"]](AggregationInputs(tokens, plan.max_tokens), filling["params"], {})
    return scale


def _mean_weight(batch: Batch, plan: StepPlan, known: Known) -> float:
    """Return the mean weight of S6 over the trained tokens where it is to be divided by; 1 where nothing is left."""
    if "logp_old" not in needs(plan.slots, "correction"):
        return 1.0
    filling = plan.slots["correction"]
    sampled = [logp for rows in batch.rows for row in rows for logp in row.logp_sample]
    trajectory = np.repeat(np.arange(len(batch.tokens)), batch.tokens)
    inputs = CorrectionInputs(torch.from_numpy(known["logp_old"]), torch.tensor(sampled, dtype=torch.float64),
                              torch.from_numpy(trajectory), len(batch.tokens))
    weight, _, _ = CORRECTIONS[filling["name"]](inputs, filling["params"], {})
    return float(weight.mean()) or 1.0


def _kept(terms: Iterable[Term], batch: Batch, slots: Mapping[str, Any]) -> Flags:
    """A trajectory whose advantages are all exactly 0 has no gradient unless a regularizer gives it one."""
    if not slots.get("skip_zero_advantage", True) or needs(slots, "regularizers") or slots["loss"]["name"] == "mle":
        return np.ones(len(batch.tokens), np.bool_)
    moving = sum(np.asarray(term.advantage * term.scale != 0) for term in terms)
    return np.logical_or.reduceat(np.asarray(moving, np.bool_), batch.offsets)
