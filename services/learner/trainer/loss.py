"""The step's loss out of its slots: phase A over the whole batch, phase B over one micro-batch.

Phase A (numpy) fixes advantages, denominators and what can be left out; phase B (torch) turns a micro-batch into its
share of the loss. Shares add up to the same loss however the step is cut.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.advantages import ADVANTAGES
from hone.algorithms.advantages.inputs import AdvantageInputs
from hone.algorithms.aggregations import AGGREGATIONS, AggregationInputs
from hone.algorithms.corrections import CORRECTIONS
from hone.algorithms.corrections.inputs import CorrectionInputs
from hone.algorithms.losses import LOSSES
from hone.algorithms.losses.inputs import LossInputs
from hone.algorithms.method import Metrics, State
from hone.algorithms.regularizers import REGULARIZERS, RegularizerInputs
from hone.algorithms.slots import needs
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Batch, Flags, Floats
from hone.trajectory.plan import StepPlan


@dataclass
class Tally:
    """Figures of micro-batches brought together: sums, means weighted by tokens, and largest values."""

    loss: float = 0.0
    forward_tokens: int = 0
    _sums: dict[str, float] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)
    _largest: dict[str, float] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """Return it as JSON, for other ranks."""
        return json.dumps([self.loss, self.forward_tokens, self._sums, self._weights, self._largest]).encode()

    @classmethod
    def joined(cls, told: Iterable[bytes]) -> "Tally":
        """Return the tally of all micro-batches from those of every rank, as `as_bytes` wrote them."""
        whole = cls()
        for loss, tokens, sums, weights, largest in map(json.loads, told):
            whole.loss, whole.forward_tokens = whole.loss + loss, whole.forward_tokens + tokens
            for name, weight in weights.items():
                whole._sums[name] = whole._sums.get(name, 0.0) + sums[name]
                whole._weights[name] = whole._weights.get(name, 0.0) + weight
            for name, value in largest.items():
                whole._largest[name] = max(value, whole._largest.get(name, value))
        return whole

    def add(self, metrics: Metrics, tokens: int) -> None:
        """Take in the figures of `tokens` tokens."""
        for name, value in metrics.items():
            if name.endswith("max"):
                self._largest[name] = max(value, self._largest.get(name, value))
            else:
                self._sums[name] = self._sums.get(name, 0.0) + value * tokens
                self._weights[name] = self._weights.get(name, 0.0) + tokens

    def figures(self) -> Metrics:
        """Return every sum, mean and largest value by name."""
        means = {name: total / self._weights[name] for name, total in self._sums.items()}
        return {"loss": self.loss, "forward_tokens": float(self.forward_tokens), **means, **self._largest}


@dataclass(frozen=True)
class Signals:
    """What phase A fixes for a step of B trajectories and M trained tokens."""

    advantage: Tensor  # float32 [M]
    scale: Tensor  # float32 [B], weight of each of the trajectory's tokens in the loss
    kept: Flags  # [B], False where the gradient is provably zero
    metrics: Metrics


def estimate(batch: Batch, plan: StepPlan, kl: Floats | None, states: dict[str, State]) -> Signals:
    """Apply S4 and S8 to a batch that is not empty; `kl` is logp_old - logp_ref [M] where S4 needs it.

    The slots' new state replaces the old in `states`.
    """
    advantage_slot, aggregation_slot = plan.slots["advantage"], plan.slots["aggregation"]
    inputs = AdvantageInputs(batch.reward, batch.group, batch.tokens, batch.baseline, kl)
    advantage, states["advantage"], metrics = ADVANTAGES[advantage_slot["name"]](
        inputs, advantage_slot["params"], states.get("advantage", {}))
    scale, _, _ = AGGREGATIONS[aggregation_slot["name"]](
        AggregationInputs(batch.tokens, plan.max_tokens), aggregation_slot["params"], {})
    return Signals(torch.from_numpy(advantage).float(), torch.from_numpy(scale).float(),
                   _kept(advantage, batch, plan.slots), metrics)


def _kept(advantage: Floats, batch: Batch, slots: Mapping[str, Any]) -> Flags:
    """A trajectory whose advantages are all exactly 0 has no gradient unless a regularizer gives it one."""
    if not slots.get("skip_zero_advantage", True) or needs(slots, "regularizers"):
        return np.ones(len(batch.tokens), np.bool_)
    return np.logical_or.reduceat(advantage != 0, batch.offsets)


def share(
    micro: MicroBatch, logp: Tensor, entropy: Tensor, logp_ref: Tensor | None, signals: Signals, plan: StepPlan,
    states: dict[str, State], tally: Tally,
) -> Tensor:
    """Return a micro-batch's share of the loss (S6, S7, S9, weighted by S8) and tally its figures.

    logp, entropy: float32 [M] with gradient; logp_ref [M] where a regularizer needs it. The batch is on-policy for
    its one update: logp_old is logp without gradient. A micro-batch that trains nothing has a share of 0, which still
    reaches every parameter.
    """
    if not len(logp):
        return logp.sum()
    old, sampled = logp.detach(), torch.from_numpy(micro.logp_sample).float().to(logp.device)
    trajectory = torch.from_numpy(micro.trajectory).to(logp.device)
    weight = _apply(CORRECTIONS, "correction", plan.slots["correction"],
                    CorrectionInputs(old, sampled, trajectory, len(signals.scale)), states, tally)
    advantage = signals.advantage.to(logp.device)[torch.from_numpy(micro.token).to(logp.device)]
    per_token = weight * _apply(LOSSES, "loss", plan.slots["loss"], LossInputs(logp, old, advantage), states, tally)
    for place, slot in enumerate(plan.slots["regularizers"]):
        inputs = RegularizerInputs(logp, logp_ref, entropy)
        per_token = per_token + _apply(REGULARIZERS, f"{slot['name']}.{place}", slot, inputs, states, tally)
    return (signals.scale.to(logp.device)[trajectory] * per_token).sum()


def _apply(
    methods: Mapping[str, Any], slot: str, filling: Mapping[str, Any], inputs: Any, states: dict[str, State],
    tally: Tally,
) -> Tensor:
    outputs: Tensor
    outputs, states[slot], metrics = methods[filling["name"]](inputs, filling["params"], states.get(slot, {}))
    tally.add({f"{slot}/{name}": value for name, value in metrics.items()}, len(outputs))
    return outputs


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
