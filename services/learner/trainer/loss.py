"""The loss of one micro-batch. The losses of a step's micro-batches add up to the same loss however the step is cut."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.catalogue import CORRECTIONS, LOSSES, REGULARIZERS
from hone.algorithms.inputs import CorrectionInputs, LossInputs, RegularizerInputs, Support
from hone.algorithms.method import Metrics, State
from hone.algorithms.slots import method, needs
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Flags
from hone.trajectory.plan import StepPlan
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.step_weights import LossTerm, StepWeights, TeacherSignal


@dataclass(frozen=True)
class ForwardOutputs:
    """Outputs of a forward for a micro-batch's M trained tokens, float32 [M]; the first two have a gradient."""

    logp: Tensor
    entropy: Tensor
    logp_ref: Tensor | None = None
    support: tuple[Tensor, Tensor] | None = None  # with gradient: logp of the teacher's ids [M, K], of all others [M]


def micro_batch_loss(
    micro: MicroBatch, outputs: ForwardOutputs, weights: StepWeights, plan: StepPlan, states: dict[str, State],
    sums: MetricSums,
) -> Tensor:
    """Return a micro-batch's share of the step's loss (S6, S7, S9, weighted by S8) and add its metrics to `sums`.

    A step of one update is on-policy: logp_old is logp without gradient. In bypass mode logp_old is the sampler's
    log-probability. A micro-batch without trained tokens has a loss of 0, whose gradient reaches every parameter.
    """
    logp = outputs.logp
    if not len(logp):
        return logp.sum()
    sampled, trajectory = _on(logp, micro.logp_sample).float(), _on(logp, micro.trajectory)
    before = _before_update(logp, micro, weights)
    old = sampled if method(plan.slots, "correction").old_policy == "sampler" else before
    correction = _apply(CORRECTIONS, "correction", plan.slots["correction"],
                        CorrectionInputs(before, sampled, trajectory, weights.trajectories, weights.mean_weight),
                        states, sums)
    teacher = _teacher_inputs(micro, outputs, weights.teacher)
    inputs = LossInputs(logp, old, logp, trajectory, weights.trajectories, **teacher)
    policy = [_policy_loss(term, micro, inputs, correction, plan, states, sums, alone=len(weights.terms) == 1)
              for term in weights.terms]
    if plan.updates > 1 or old is sampled:
        sums.spread("loss/ratio", inputs.ratio().detach())
    imitated = None if weights.imitated is None else _taken(weights.imitated, micro, logp)
    regularized = RegularizerInputs(logp, outputs.logp_ref, outputs.entropy, old, **teacher, imitated=imitated)
    others = _regularizers(micro, regularized, weights, plan, states, sums)
    return torch.stack([*policy, *others]).sum()


def _before_update(logp: Tensor, micro: MicroBatch, weights: StepWeights) -> Tensor:
    """Return the trainer's log-probabilities before the step's first update, [M]."""
    return logp.detach() if weights.logp_old is None else _taken(weights.logp_old, micro, logp)


def _teacher_inputs(micro: MicroBatch, outputs: ForwardOutputs, teacher: TeacherSignal | None) -> dict[str, Any]:
    """Return a teacher's log-probabilities as losses and regularizers name them; {} without a teacher."""
    if teacher is None:
        return {}
    logp, known, top = (_taken(each, micro, outputs.logp) for each in (teacher.logp, teacher.known, teacher.top_logp))
    support = None if outputs.support is None else Support(top, *outputs.support)
    return {"logp_teacher": logp, "known": known, "support": support}


def _regularizers(
    micro: MicroBatch, inputs: RegularizerInputs, weights: StepWeights, plan: StepPlan, states: dict[str, State],
    sums: MetricSums,
) -> list[Tensor]:
    """Return each regularizer's loss. A regularizer that reads a teacher is averaged over the teacher's tokens."""
    teacher, losses = weights.teacher, []
    for place, slot in enumerate(plan.slots["regularizers"]):
        alone = {"regularizers": [slot]}
        taught = teacher is not None and needs(alone, "regularizers") & {"logp_teacher", "support"}
        scale = _taken(teacher.scale if teacher is not None and taught else weights.regularized, micro, inputs.logp)
        name = f"regularizers/{slot['name']}.{place}"
        losses.append(sums.share(f"{name}/term", (scale * _apply(
            REGULARIZERS, name, slot, inputs, states, sums)).sum()))
    return losses


def _taken(values: Tensor, micro: MicroBatch, like: Tensor) -> Tensor:
    """Return the values of a micro-batch's tokens from those of the step, on the device of `like`."""
    return values.index_select(0, _on(values, micro.token)).to(like.device)


def _policy_loss(
    term: LossTerm, micro: MicroBatch, inputs: LossInputs, correction: Tensor, plan: StepPlan,
    states: dict[str, State], sums: MetricSums, *, alone: bool,
) -> Tensor:
    """Return the policy loss over one term's tokens, weighted by S6 and S8."""
    scale, advantage, unmodulated = (_taken(values, micro, correction)
                                     for values in (term.scale, term.advantage, term.unmodulated))
    own = slice(None) if alone else scale.nonzero().squeeze(1)
    mine = replace(inputs, advantage=advantage, unmodulated=unmodulated).of(own)
    if not len(mine.logp):
        return inputs.logp.sum() * 0
    filling = plan.slots["loss"] if term.loss is None else {"name": term.loss, "params": {}}
    name = "loss" if alone else f"loss/{term.name}"
    loss = (scale[own] * correction[own] * _apply(LOSSES, name, filling, mine, states, sums)).sum()
    return sums.share(f"{name}/term", loss)


def _apply(
    methods: Mapping[str, Any], slot: str, filling: Mapping[str, Any], inputs: Any, states: dict[str, State],
    sums: MetricSums,
) -> Tensor:
    outputs: Tensor
    outputs, states[slot], metrics = methods[filling["name"]](inputs, filling["params"], states.get(slot, {}))
    sums.add({f"{slot}/{name}": value for name, value in metrics.items()}, len(outputs))
    return outputs


def _on(tensor: Tensor, array: Any) -> Tensor:
    return torch.from_numpy(array).to(tensor.device)


def sampler_gap(micro: MicroBatch, logp: Tensor, drawn_now: Flags) -> tuple[Metrics, int]:
    """Return mean and maximum of |logp - logp_sample| over the tokens of some trajectories, and the number of tokens.

    drawn_now: bool [B], trajectories that only the version in training has sampled.
    """
    counted = drawn_now[micro.trajectory]
    count = int(counted.sum())
    if not count:
        return {}, 0
    distance = np.abs(logp.detach().cpu().numpy() - micro.logp_sample)[counted]
    return {"gap/mean": float(distance.mean()), "gap/max": float(distance.max())}, count
