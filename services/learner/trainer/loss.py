"""Phase B: a micro-batch's share of the step's loss. Shares add up to the same loss however the step is cut."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.inputs import CorrectionInputs, LossInputs, RegularizerInputs, Support
from hone.algorithms.losses import LOSSES
from hone.algorithms.method import Metrics, State
from hone.algorithms.regularizers import REGULARIZERS
from hone.algorithms.slots import method, needs
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Flags
from hone.trajectory.plan import StepPlan
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.step_weights import StepWeights, Teaching, Term


@dataclass(frozen=True)
class ForwardOutputs:
    """What a forward told of a micro-batch's M trained tokens, float32 [M]; the first two have a gradient."""

    logp: Tensor
    entropy: Tensor
    logp_ref: Tensor | None = None
    likeliest: tuple[Tensor, Tensor] | None = None  # [M, K] and [M] with gradient: the teacher's ids, and all others


def share(
    micro: MicroBatch, seen: ForwardOutputs, weights: StepWeights, plan: StepPlan, states: dict[str, State],
    sums: MetricSums,
) -> Tensor:
    """Return a micro-batch's share of the loss (S6, S7, S9, weighted by S8) and add its figures.

    In a step of one update the batch is on-policy: logp_old is logp without gradient. In bypass mode it is what the
    sampler said. A micro-batch that trains nothing has a share of 0, which still reaches every parameter.
    """
    logp = seen.logp
    if not len(logp):
        return logp.sum()
    sampled, trajectory = _on(logp, micro.logp_sample).float(), _on(logp, micro.trajectory)
    before = _before(logp, micro, weights)
    old = sampled if method(plan.slots, "correction").old_policy == "sampler" else before
    weight = _apply(CORRECTIONS, "correction", plan.slots["correction"],
                    CorrectionInputs(before, sampled, trajectory, weights.trajectories, weights.mean_weight),
                    states, sums)
    word = _word(micro, seen, weights.teaching)
    inputs = LossInputs(logp, old, logp, trajectory, weights.trajectories, **word)
    policy = [_part(term, micro, inputs, weight, plan, states, sums, alone=len(weights.terms) == 1)
              for term in weights.terms]
    if plan.updates > 1 or old is sampled:
        sums.spread("loss/ratio", inputs.ratio().detach())
    regularized = RegularizerInputs(logp, seen.logp_ref, seen.entropy, old, **word)
    others = _regularizers(micro, regularized, weights, plan, states, sums)
    return torch.stack([*policy, *others]).sum()


def _before(logp: Tensor, micro: MicroBatch, weights: StepWeights) -> Tensor:
    """Return the trainer's log-probabilities before the step's first update."""
    return logp.detach() if weights.logp_old is None else _taken(weights.logp_old, micro, logp)


def _word(micro: MicroBatch, seen: ForwardOutputs, teaching: Teaching | None) -> dict[str, Any]:
    """Return a teacher's word on a micro-batch's tokens as losses and regularizers name it; {} without a teacher."""
    if teaching is None:
        return {}
    logp, known, top = (_taken(each, micro, seen.logp) for each in (teaching.logp, teaching.known, teaching.top_logp))
    support = None if seen.likeliest is None else Support(top, *seen.likeliest)
    return {"logp_teacher": logp, "known": known, "support": support}


def _regularizers(
    micro: MicroBatch, inputs: RegularizerInputs, weights: StepWeights, plan: StepPlan, states: dict[str, State],
    sums: MetricSums,
) -> list[Tensor]:
    """Return each regularizer's share; one that reads a teacher is averaged over the tokens that it speaks of."""
    teaching, shares = weights.teaching, []
    for place, slot in enumerate(plan.slots["regularizers"]):
        alone = {"regularizers": [slot]}
        taught = teaching is not None and needs(alone, "regularizers") & {"logp_teacher", "support"}
        scale = _taken(teaching.scale if teaching is not None and taught else weights.regularized, micro, inputs.logp)
        name = f"regularizers/{slot['name']}.{place}"
        shares.append(sums.share(f"{name}/term", (scale * _apply(
            REGULARIZERS, name, slot, inputs, states, sums)).sum()))
    return shares


def _taken(values: Tensor, micro: MicroBatch, like: Tensor) -> Tensor:
    """Return a micro-batch's tokens of the step's, where `like` is."""
    return values.index_select(0, _on(values, micro.token)).to(like.device)


def _part(
    term: Term, micro: MicroBatch, inputs: LossInputs, weight: Tensor, plan: StepPlan, states: dict[str, State],
    sums: MetricSums, *, alone: bool,
) -> Tensor:
    """Return one term's share: its policy loss over its own tokens, weighted by S6 and S8."""
    scale, advantage, before = (_taken(values, micro, weight)
                                for values in (term.scale, term.advantage, term.unmodulated))
    own = slice(None) if alone else scale.nonzero().squeeze(1)
    mine = replace(inputs, advantage=advantage, unmodulated=before).of(own)
    if not len(mine.logp):
        return inputs.logp.sum() * 0
    filling = plan.slots["loss"] if term.loss is None else {"name": term.loss, "params": {}}
    name = "loss" if alone else f"loss/{term.name}"
    part = (scale[own] * weight[own] * _apply(LOSSES, name, filling, mine, states, sums)).sum()
    return sums.share(f"{name}/term", part)


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


def gap(micro: MicroBatch, logp: Tensor, comparable: Flags) -> tuple[Metrics, int]:
    """Return mean and largest |logp - logp_sample| over tokens of comparable trajectories [B], and their number.

    Comparable are those which the version in training sampled, and no other.
    """
    comparable = comparable[micro.trajectory]
    count = int(comparable.sum())
    if not count:
        return {}, 0
    distance = np.abs(logp.detach().cpu().numpy() - micro.logp_sample)[comparable]
    return {"gap/mean": float(distance.mean()), "gap/max": float(distance.max())}, count
