"""Phase B: a micro-batch's share of the step's loss. Shares add up to the same loss however the step is cut."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.corrections.inputs import CorrectionInputs
from hone.algorithms.losses import LOSSES
from hone.algorithms.losses.inputs import LossInputs
from hone.algorithms.method import Metrics, State
from hone.algorithms.regularizers import REGULARIZERS
from hone.algorithms.regularizers.inputs import RegularizerInputs
from hone.algorithms.slots import old_policy
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Flags
from hone.trajectory.plan import StepPlan
from services.learner.trainer.signals import Signals, Term
from services.learner.trainer.tally import Tally


def share(
    micro: MicroBatch, logp: Tensor, entropy: Tensor, logp_ref: Tensor | None, signals: Signals, plan: StepPlan,
    states: dict[str, State], tally: Tally,
) -> Tensor:
    """Return a micro-batch's share of the loss (S6, S7, S9, weighted by S8) and tally its figures.

    logp, entropy: float32 [M] with gradient; logp_ref [M] where a regularizer needs it. The batch is on-policy for
    its one update: logp_old is logp without gradient, or in bypass mode what the sampler said. A micro-batch that
    trains nothing has a share of 0, which still reaches every parameter.
    """
    if not len(logp):
        return logp.sum()
    sampled, trajectory = _on(logp, micro.logp_sample).float(), _on(logp, micro.trajectory)
    old = sampled if old_policy(plan.slots) == "sampler" else logp.detach()
    weight = _apply(CORRECTIONS, "correction", plan.slots["correction"],
                    CorrectionInputs(logp.detach(), sampled, trajectory, len(signals.scale), signals.mean_weight),
                    states, tally)
    inputs = LossInputs(logp, old, logp, trajectory, len(signals.scale))
    policy = [_part(term, micro, inputs, weight, plan, states, tally, alone=len(signals.terms) == 1)
              for term in signals.terms]
    scale, seen = signals.scale.to(logp.device)[trajectory], RegularizerInputs(logp, logp_ref, entropy, old)
    others = [(scale * _apply(REGULARIZERS, f"{slot['name']}.{place}", slot, seen, states, tally)).sum()
              for place, slot in enumerate(plan.slots["regularizers"])]
    return torch.stack([*policy, *others]).sum()


def _part(
    term: Term, micro: MicroBatch, inputs: LossInputs, weight: Tensor, plan: StepPlan, states: dict[str, State],
    tally: Tally, *, alone: bool,
) -> Tensor:
    """Return one term's share: its policy loss over its own tokens, weighted by S6 and S8."""
    token = _on(weight, micro.token)
    scale, advantage, before = (values.to(weight.device)[token]
                                for values in (term.scale, term.advantage, term.unmodulated))
    own = slice(None) if alone else scale.nonzero().squeeze(1)
    mine = LossInputs(inputs.logp[own], inputs.logp_old[own], advantage[own],
                      None if inputs.trajectory is None else inputs.trajectory[own], inputs.trajectories, before[own])
    if not len(mine.logp):
        return inputs.logp.sum() * 0
    filling = plan.slots["loss"] if term.loss is None else {"name": term.loss, "params": {}}
    name = "loss" if alone else f"loss/{term.name}"
    return (scale[own] * weight[own] * _apply(LOSSES, name, filling, mine, states, tally)).sum()


def _apply(
    methods: Mapping[str, Any], slot: str, filling: Mapping[str, Any], inputs: Any, states: dict[str, State],
    tally: Tally,
) -> Tensor:
    outputs: Tensor
    outputs, states[slot], metrics = methods[filling["name"]](inputs, filling["params"], states.get(slot, {}))
    tally.add({f"{slot}/{name}": value for name, value in metrics.items()}, len(outputs))
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
