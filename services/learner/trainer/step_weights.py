"""Phase A: what a step's slots fix over the whole batch before any micro-batch runs. numpy in, tensors out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.aggregations import AGGREGATIONS, AggregationInputs
from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.inputs import AdvantageInputs, CorrectionInputs, Estimate, ModulationInputs, Track
from hone.algorithms.losses import LOSSES
from hone.algorithms.method import Metrics, State
from hone.algorithms.modulations import MODULATIONS
from hone.algorithms.slots import method, needs
from hone.trajectory.packing import Batch, Flags, Floats, Ints
from hone.trajectory.plan import StepPlan
from hone.trajectory.teaching import Taught


@dataclass(frozen=True)
class Known:
    """What was found out of a step's M trained tokens before its first update, float64 [M]; None: no slot reads it."""

    logp_old: Floats | None = None
    logp_ref: Floats | None = None
    entropy: Floats | None = None
    expected: Floats | None = None
    values: Floats | None = None
    taught: Taught | None = None

    @cached_property
    def logp_teacher(self) -> Floats | None:
        """The teacher's word; where it has none, the policy's own, so that there is no gap between them."""
        if self.taught is None or self.logp_old is None:
            return None
        return np.where(self.taught.known, self.taught.logp, self.logp_old)


@dataclass(frozen=True)
class Term:
    """One part of the policy loss: M trained tokens with the advantage and the weight that each has in it."""

    name: str
    advantage: Tensor  # float32 [M]
    unmodulated: Tensor  # float32 [M], before S5
    scale: Tensor  # float32 [M], 0 where the token is not of this part
    loss: str | None  # policy loss of this part alone; None: what S7 is filled with


@dataclass(frozen=True)
class Teaching:
    """A teacher's word as regularizers read it: [M] and [M, K]."""

    logp: Tensor  # float32 [M]
    known: Tensor  # bool [M]
    top_ids: Ints  # [M, K]
    top_logp: Tensor  # float32 [M, K]
    scale: Tensor  # float32 [M], weight of a token in a mean over those that the teacher speaks of


@dataclass(frozen=True)
class StepWeights:
    """What phase A fixes for a step of B trajectories and M trained tokens."""

    trajectories: int  # B
    part: Ints  # [B], which of the step's parts a trajectory belongs to
    terms: list[Term]
    scale: Tensor  # float32 [M], weight of each token in a mean over all of them
    regularized: Tensor  # float32 [M], the same times the weight of its named spans: in what regularizes
    kept: Flags  # [B], False where the gradient is provably zero
    mean_weight: float  # of S6 over the step, where it is to be 1
    metrics: Metrics
    logp_old: Tensor | None = None  # float32 [M], where the step has several updates
    teaching: Teaching | None = None


def estimate(batch: Batch, plan: StepPlan, known: Known, states: dict[str, State]) -> StepWeights:
    """Apply S4, S5 and S8 to a batch that is not empty; `known` has what the slots need.

    Statistics are the whole step's, denominators those of each of its parts. The slots' new state replaces the old in
    `states`.
    """
    estimated, metrics = _apply(ADVANTAGES, "advantage", plan, advantage_inputs(batch, plan, known), states)
    tracks, part = _tracks(estimated, batch), _parts(batch.group, plan.minibatches)
    modulated, told = _modulated(tracks, batch, plan, known, states)
    terms = [_term(before, track, batch, part, plan) for before, track in zip(tracks, modulated, strict=True)]
    every, moving = np.ones(int(batch.tokens.sum()), np.bool_), _moving(terms, batch)
    metrics = {**metrics, "zero_share": float((~moving).mean())}
    told |= {f"span/{name}": float(inside.mean()) for name, inside in batch.spans.inside.items()}
    return StepWeights(
        len(batch.tokens), part, terms, _tensor(_mean(every, batch, part, plan)),
        _tensor(_scale(every, batch, part, plan)), _kept(moving, plan.slots),
        _mean_weight(batch, plan, known), _named("advantage", metrics) | told,
        _tensor(known.logp_old) if plan.updates > 1 and known.logp_old is not None else None,
        None if known.taught is None else _teaching(known.taught, batch, part, plan))


def advantage_inputs(batch: Batch, plan: StepPlan, known: Known) -> AdvantageInputs:
    """Return what S4 reads of a batch."""
    old, ref = known.logp_old, known.logp_ref
    return replace(
        AdvantageInputs.of(batch, plan), kl=None if old is None or ref is None else old - ref, logp_old=old,
        logp_teacher=known.logp_teacher, values=known.values)


def _parts(group: Ints, parts: int) -> Ints:
    """Deal groups out in order to `parts` parts of equally many, up to one; [B]."""
    groups, places = np.unique(group, return_inverse=True)
    return places * parts // max(1, len(groups))


def _named(slot: str, metrics: Metrics) -> Metrics:
    return {f"{slot}/{name}": value for name, value in metrics.items()}


def _tensor(values: Floats) -> Tensor:
    return torch.from_numpy(values).float()


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
        told |= _named("modulation", metrics)
        advantages.append(advantage)
    return [replace(track, advantage=new) for track, new in zip(tracks, advantages, strict=True)], told


def _modulation_inputs(track: Track, batch: Batch, plan: StepPlan, known: Known) -> ModulationInputs:
    (low, high), (segment, score) = _band(plan), _scored_turns(batch, plan)
    return ModulationInputs(
        track.advantage, batch.tokens, known.logp_old, known.logp_old, known.entropy, known.expected,
        known.logp_teacher, None if known.taught is None else known.taught.known, step=plan.nth - 1, clip_low=low,
        clip_high=high, segment=segment, score=score)


def _scored_turns(batch: Batch, plan: StepPlan) -> tuple[Ints | None, Floats | None]:
    """Return whose turn each token [M] is and what rules find each turn [T] worth, in [0, 1]; None: nobody reads it."""
    rules = list(batch.turns.rules.values())
    if not rules or "rules" not in needs(plan.slots, "modulation"):
        return None, None
    tokens = batch.turns.tokens
    return np.repeat(np.arange(len(tokens)), tokens), np.clip(1 + np.mean(rules, axis=0), 0.0, 1.0)


def _band(plan: StepPlan) -> tuple[float, float]:
    """Return how far below and above 1 the loss lets a token's ratio move; no bounds where it has none."""
    params = LOSSES[plan.slots["loss"]["name"]].params.model_validate(plan.slots["loss"]["params"])
    return params.token_band()


def _term(before: Track, track: Track, batch: Batch, part: Ints, plan: StepPlan) -> Term:
    scale = _scale(track.counts, batch, part, plan) * track.weight
    return Term(track.name, _tensor(track.advantage), _tensor(before.advantage), _tensor(scale),
                None if track.loss == "policy" else track.loss)


def _teaching(taught: Taught, batch: Batch, part: Ints, plan: StepPlan) -> Teaching:
    return Teaching(
        _tensor(taught.logp), torch.from_numpy(taught.known), taught.top_ids, _tensor(taught.top_logp),
        _tensor(_scale(taught.known, batch, part, plan)))


def _scale(counts: Flags, batch: Batch, part: Ints, plan: StepPlan) -> Floats:
    """Return the weight of each token [M] in the loss: w_t of its named spans times that in S8's mean.

    No denominator knows of w_t (our choice): tokens outside pull as they did.
    """
    weight = 1.0 if batch.spans.weight is None else batch.spans.weight
    return _mean(counts, batch, part, plan) * weight


def _mean(counts: Flags, batch: Batch, part: Ints, plan: StepPlan) -> Floats:
    """Return the weight of each token [M] in S8's mean over those that count, taken over each part by itself."""
    filling = plan.slots["aggregation"]
    lengths, owner = _units(batch, plan)
    unit = np.repeat(np.arange(len(lengths)), lengths)
    tokens, weights = np.bincount(unit[counts], minlength=len(lengths)), np.zeros(len(lengths))
    for mine in (part[owner] == number for number in np.unique(part)):
        inputs = AggregationInputs(tokens[mine], plan.max_tokens)
        weights[mine], _, _ = AGGREGATIONS[filling["name"]](inputs, filling["params"], {})
    return weights[unit] * counts


def _units(batch: Batch, plan: StepPlan) -> tuple[Ints, Ints]:
    """Return the trained tokens of each trajectory, or of each turn where S8 averages over turns, and whose it is."""
    if "turns" in needs(plan.slots, "aggregation"):
        return batch.turns.tokens, batch.turns.trajectory
    return batch.tokens, np.arange(len(batch.tokens))


def _mean_weight(batch: Batch, plan: StepPlan, known: Known) -> float:
    """Return the mean weight of S6 over the trained tokens where it is to be divided by; 1 where nothing is left."""
    if known.logp_old is None or "logp_old" not in needs(plan.slots, "correction"):
        return 1.0
    filling = plan.slots["correction"]
    sampled = [logp for rows in batch.rows for row in rows for logp in row.logp_sample]
    trajectory = np.repeat(np.arange(len(batch.tokens)), batch.tokens)
    inputs = CorrectionInputs(torch.from_numpy(known.logp_old), torch.tensor(sampled, dtype=torch.float64),
                              torch.from_numpy(trajectory), len(batch.tokens))
    weight, _, _ = CORRECTIONS[filling["name"]](inputs, filling["params"], {})
    return float(weight.mean()) or 1.0


def _moving(terms: Iterable[Term], batch: Batch) -> Flags:
    """Return which trajectories have an advantage that is not exactly 0, [B]."""
    moving = sum(np.asarray(term.advantage * term.scale != 0) for term in terms)
    return np.logical_or.reduceat(np.asarray(moving, np.bool_), batch.offsets)


def _kept(moving: Flags, slots: Mapping[str, Any]) -> Flags:
    """A trajectory whose advantages are all exactly 0 has no gradient unless a regularizer gives it one."""
    skips = slots.get("skip_zero_advantage", True) and method(slots, "loss").reads_advantage
    return moving if skips and not needs(slots, "regularizers") else np.ones(len(moving), np.bool_)
