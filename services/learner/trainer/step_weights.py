"""The advantage of each token of a step and its weight in the loss (slots S4, S5 and S8), before the first update.

They depend on the whole batch: statistics run over all trajectories of the step, denominators over the trajectories of
each minibatch. Inputs are numpy arrays, outputs are tensors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.aggregations import AggregationInputs
from hone.algorithms.catalogue import ADVANTAGES, AGGREGATIONS, CORRECTIONS
from hone.algorithms.inputs import AdvantageInputs, CorrectionInputs, Estimate, Track
from hone.algorithms.method import Metrics, State
from hone.algorithms.slots import method, needs
from hone.trajectory.packing import Batch, Flags, Floats, Ints
from hone.trajectory.plan import StepPlan
from hone.trajectory.teaching import TeacherLogprobs
from services.learner.trainer.modulation import Modulation
from services.learner.trainer.reference_pass import BeforeUpdate, PolicyValues


@dataclass(frozen=True)
class LossTerm:
    """One term of the policy loss: the advantage and the weight that each of the M trained tokens has in it."""

    name: str
    advantage: Tensor  # float32 [M]
    unmodulated: Tensor  # float32 [M], the advantage before S5
    scale: Tensor  # float32 [M], 0 for tokens that are not in this term
    loss: str | None  # name of this term's own policy loss; None: the loss in S7


@dataclass(frozen=True)
class TeacherSignal:
    """A teacher's log-probabilities as losses and regularizers read them."""

    logp: Tensor  # float32 [M]
    known: Tensor  # bool [M]
    top_ids: Ints  # [M, K]
    top_logp: Tensor  # float32 [M, K]
    scale: Tensor  # float32 [M], weight of a token in a mean over the known ones


@dataclass(frozen=True)
class StepWeights:
    """The weights of a step's B trajectories and M trained tokens."""

    trajectories: int  # B
    minibatch: Ints  # [B], number of the minibatch that a trajectory belongs to
    terms: list[LossTerm]
    scale: Tensor  # float32 [M], weight of each token in a mean over all of them
    regularized: Tensor  # float32 [M], the same times the weights of its named spans, for regularizers
    kept: Flags  # [B], False if the trajectory provably has no gradient
    mean_weight: float  # mean of S6 over the step if the method divides by it, else 1
    metrics: Metrics
    logp_old: Tensor | None = None  # float32 [M], if the step has several updates
    teacher: TeacherSignal | None = None
    imitated: Tensor | None = None  # bool [M], tokens that the advantage leaves to imitation; None: it names none
    modulation: Modulation | None = None  # of each update; None: the terms have it

    def of_update(
        self, now: PolicyValues, in_update: Flags, states: dict[str, State]
    ) -> tuple["StepWeights", Metrics]:
        """Return the weights of one update and its metrics of S5, which reads the current weights.

        `in_update` is bool [B]. `now` holds the values of its tokens under the current weights.
        """
        if self.modulation is None:
            return self, {}
        advantages, metrics = self.modulation.advantages(now, in_update, states)
        terms = _with_advantages(self.terms, advantages)
        return replace(self, terms=terms, kept=_kept(_moving(terms, self.modulation.batch), self.modulation.plan.slots)
                       ), metrics


def compute_step_weights(
    batch: Batch, plan: StepPlan, before: BeforeUpdate, states: dict[str, State]
) -> StepWeights:
    """Apply S4, S5 and S8 to a batch that is not empty, and replace the slots' states in `states` by their new ones.

    Raises ValueError or KeyError when `before` lacks what a slot needs.
    """
    inputs = advantage_inputs(batch, plan, before)
    estimated, metrics = _apply(ADVANTAGES, "advantage", plan, inputs, states)
    tracks, minibatch = _tracks(estimated, batch), _minibatches(batch.group, plan.minibatches)
    terms = [_term(track, batch, minibatch, plan) for track in tracks]
    modulation, modulation_metrics = Modulation(tracks, batch, plan, before), Metrics()
    if not modulation.every_update:
        advantages, modulation_metrics = modulation.advantages(
            before.policy, np.ones(len(batch.tokens), np.bool_), states)
        terms = _with_advantages(terms, advantages)
    every, moving = np.ones(int(batch.tokens.sum()), np.bool_), _moving(terms, batch)
    advantage_metrics = _named("advantage", {**metrics, "zero_share": float((~moving).mean())})
    span_metrics = {f"span/{name}": float(inside.mean()) for name, inside in batch.spans.inside.items()}
    return StepWeights(
        len(batch.tokens), minibatch, terms, _tensor(_mean(every, batch, minibatch, plan)),
        _tensor(_scale(every, batch, minibatch, plan)), _kept(moving, plan.slots),
        _mean_weight(batch, plan, before), advantage_metrics | modulation_metrics | span_metrics,
        _tensor(before.logp_old) if plan.updates > 1 and before.logp_old is not None else None,
        None if before.teacher is None else _teacher_signal(before.teacher, batch, minibatch, plan),
        _imitated(inputs, plan), modulation if modulation.every_update else None)


def advantage_inputs(batch: Batch, plan: StepPlan, before: BeforeUpdate) -> AdvantageInputs:
    """Return the inputs of S4 for a batch."""
    old, ref = before.logp_old, before.logp_ref
    return replace(
        AdvantageInputs.of(batch, plan), kl=None if old is None or ref is None else old - ref, logp_old=old,
        logp_teacher=before.logp_teacher, values=before.values)


def _imitated(inputs: AdvantageInputs, plan: StepPlan) -> Tensor | None:
    estimator = method(plan.slots, "advantage")
    if estimator.imitated is None:
        return None
    return torch.from_numpy(estimator.imitated(inputs, estimator.params.model_validate(
        plan.slots["advantage"]["params"])))


def _minibatches(group: Ints, count: int) -> Ints:
    """Deal groups out in order to `count` minibatches, whose numbers of groups differ by at most one; [B]."""
    groups, places = np.unique(group, return_inverse=True)
    return places * count // max(1, len(groups))


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


def _term(track: Track, batch: Batch, minibatch: Ints, plan: StepPlan) -> LossTerm:
    scale, advantage = _scale(track.counts, batch, minibatch, plan) * track.weight, _tensor(track.advantage)
    return LossTerm(track.name, advantage, advantage, _tensor(scale), None if track.loss == "policy" else track.loss)


def _with_advantages(terms: Sequence[LossTerm], advantages: Sequence[Floats]) -> list[LossTerm]:
    return [replace(term, advantage=_tensor(values)) for term, values in zip(terms, advantages, strict=True)]


def _teacher_signal(teacher: TeacherLogprobs, batch: Batch, minibatch: Ints, plan: StepPlan) -> TeacherSignal:
    return TeacherSignal(
        _tensor(teacher.logp), torch.from_numpy(teacher.known), teacher.top_ids, _tensor(teacher.top_logp),
        _tensor(_scale(teacher.known, batch, minibatch, plan)))


def _scale(counts: Flags, batch: Batch, minibatch: Ints, plan: StepPlan) -> Floats:
    """Return the weight of each token [M] in the loss: its weight in S8's mean times the weights of its named spans.

    Span weights enter no denominator (our choice), so that the weight of a span does not change other tokens.
    """
    weight = 1.0 if batch.spans.weight is None else batch.spans.weight
    return _mean(counts, batch, minibatch, plan) * weight


def _mean(counts: Flags, batch: Batch, minibatch: Ints, plan: StepPlan) -> Floats:
    """Return the weight of each token [M] in S8's mean over the tokens that count, separately for each minibatch."""
    filling = plan.slots["aggregation"]
    lengths, owner = _units(batch, plan)
    unit = np.repeat(np.arange(len(lengths)), lengths)
    tokens, weights = np.bincount(unit[counts], minlength=len(lengths)), np.zeros(len(lengths))
    for mine in (minibatch[owner] == number for number in np.unique(minibatch)):
        inputs = AggregationInputs(tokens[mine], plan.max_tokens, batch.group[owner[mine]])
        weights[mine], _, _ = AGGREGATIONS[filling["name"]](inputs, filling["params"], {})
    return weights[unit] * counts


def _units(batch: Batch, plan: StepPlan) -> tuple[Ints, Ints]:
    """Return the trained tokens of each unit that S8 averages over, a trajectory or a turn, and its trajectory."""
    if "turns" in needs(plan.slots, "aggregation"):
        return batch.turns.tokens, batch.turns.trajectory
    return batch.tokens, np.arange(len(batch.tokens))


def _mean_weight(batch: Batch, plan: StepPlan, before: BeforeUpdate) -> float:
    """Return the mean weight of S6 over the trained tokens if S6 needs it, else 1. A mean of 0 becomes 1."""
    if before.logp_old is None or "logp_old" not in needs(plan.slots, "correction"):
        return 1.0
    filling = plan.slots["correction"]
    trajectory = np.repeat(np.arange(len(batch.tokens)), batch.tokens)
    inputs = CorrectionInputs(torch.from_numpy(before.logp_old), torch.from_numpy(batch.logp_sample),
                              torch.from_numpy(trajectory), len(batch.tokens))
    weight, _, _ = CORRECTIONS[filling["name"]](inputs, filling["params"], {})
    return float(weight.mean()) or 1.0


def _moving(terms: Iterable[LossTerm], batch: Batch) -> Flags:
    """Return which trajectories have an advantage that is not exactly 0, [B]."""
    moving = sum(np.asarray(term.advantage * term.scale != 0) for term in terms)
    return np.logical_or.reduceat(np.asarray(moving, np.bool_), batch.offsets)


def _kept(moving: Flags, slots: Mapping[str, Any]) -> Flags:
    """Return which trajectories [B] may have a gradient: all with a regularizer, else those with an advantage."""
    skips = slots.get("skip_zero_advantage", True) and method(slots, "loss").reads_advantage
    return moving if skips and not needs(slots, "regularizers") else np.ones(len(moving), np.bool_)
