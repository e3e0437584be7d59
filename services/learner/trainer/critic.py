"""The critic beside the policy: its values before a step's first update, and its own updates towards the returns.

    critic = TrainedCritic.of(snapshot, settings, forward)    None without a critic; settings: a CriticSpec as JSON
    values = critic.values(batch)                             before the first update, for GAE
    targets = CriticTargets.of(plan, batch, before)           for all updates of the step
    critic.learn(batch, in_update, targets, scale, sums)      adds to its gradient
    norm = critic.clip(); critic.step()                       applies and clears it
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from hone.algorithms.advantages.gae import GaeParams, explained, returns
from hone.algorithms.losses.critic import critic_loss
from hone.algorithms.method import Metrics
from hone.models.architecture import Architecture
from hone.models.critic import Critic
from hone.spec.run import CriticSpec
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Batch, Flags, Floats
from hone.trajectory.plan import StepPlan
from services.learner.trainer.forward import Forward
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.optimizer import Optimizer
from services.learner.trainer.reference_pass import BeforeUpdate
from services.learner.trainer.snapshot import Snapshot, Trained
from services.learner.trainer.step_weights import advantage_inputs


@dataclass(frozen=True)
class CriticTargets:
    """Targets of the critic for a step's M trained tokens, float64 [M], fixed before the step's first update."""

    returns: Floats
    values: Floats  # before the first update

    @classmethod
    def of(cls, plan: StepPlan, batch: Batch, before: BeforeUpdate) -> "CriticTargets":
        """Return the targets of a step whose advantage is GAE. Raises ValueError when `before` has no values."""
        params = GaeParams.model_validate(plan.slots["advantage"]["params"])
        return cls(returns(advantage_inputs(batch, plan, before), params), cast(Floats, before.values))

    def metrics(self) -> Metrics:
        """Return how well the values before the first update predict the returns."""
        return {
            "critic/value_mean": float(self.values.mean()), "critic/return_mean": float(self.returns.mean()),
            "critic/explained_variance": explained(self.returns, self.returns - self.values)}


class TrainedCritic:
    """A critic with its own optimizer. All ranks call each method at the same time."""

    def __init__(
        self, trained: Trained, architecture: Architecture, settings: Mapping[str, Any], forward: Forward,
    ) -> None:
        """Begin with `trained`. Raises pydantic.ValidationError unless `settings` are a CriticSpec."""
        self._spec, self._forward = CriticSpec.model_validate(settings), forward
        self._module = Critic(architecture, trained.weights, forward.ranks)
        self._optimizer = Optimizer(self._module.trained, self._spec.optimizer, forward.ranks, trained)

    @classmethod
    def of(
        cls, snapshot: Snapshot, settings: Mapping[str, Any] | None, forward: Forward,
    ) -> "TrainedCritic | None":
        """Return a snapshot's critic, or None. Raises ValueError if only one of snapshot and settings has a critic."""
        if snapshot.critic is None and settings is None:
            return None
        if snapshot.critic is None or settings is None:
            there = [name for name, one in (("weights", snapshot.critic), ("settings", settings)) if one is not None]
            raise ValueError(f"critic: found {there[0]} alone, expected weights and settings, or neither")
        return cls(snapshot.critic, snapshot.architecture, settings, forward)

    def values(self, batch: Batch) -> Floats:
        """Return the critic's value before each of a batch's trained tokens, [M], in units of reward."""
        return self._forward.over_batch(batch, lambda micro: {"values": self._module(micro)})["values"]

    def learn(self, batch: Batch, in_update: Flags, targets: CriticTargets, scale: Tensor, sums: MetricSums) -> None:
        """Add the gradient of sum_t scale_t loss_t over the trajectories in an update [B], and its metrics to `sums`.

        scale: float32 [M], weight of each of the step's tokens. Gradients are added in the order of the micro-batches,
        so that the number of threads changes no bit. Trajectories that the policy skips are included: their values may
        be wrong even if their advantages are all 0.
        """
        for micros in self._forward.rounds(batch, in_update):
            values = self._forward.each(self._module, micros)
            losses = [self._loss(*each, targets, scale, sums) for each in zip(micros, values, strict=True)]
            self._forward.backward(losses, self._module.trained)

    def _loss(
        self, micro: MicroBatch, values: Tensor, targets: CriticTargets, scale: Tensor, sums: MetricSums,
    ) -> Tensor:
        """Return a micro-batch's loss. Without trained tokens it is 0, and its gradient reaches every parameter."""
        if not len(values):
            return values.sum()
        wanted, before = (_beside(values, each[micro.token]) for each in (targets.returns, targets.values))
        loss = critic_loss(values, wanted, before, self._spec.clip)
        clipped = loss.detach() > 0.5 * (values.detach() - wanted).square()
        sums.add({"critic/loss": float(loss.detach().mean()), "critic/clip_fraction": float(clipped.float().mean())},
                 len(loss))
        return (_beside(values, scale.numpy()[micro.token]) * loss).sum()

    def clip(self) -> float:
        """Clip the gradient to the norm of the critic's spec and return the norm that it had before."""
        return self._optimizer.clip(self._spec.optimizer.clip_norm)

    def step(self) -> None:
        """Apply the gradient at the rate of the critic's spec and clear it."""
        self._optimizer.step(self._spec.optimizer.lr)

    def restart(self) -> None:
        """Go on with the weights and new moments."""
        self._optimizer.restart()

    def trained(self) -> Trained:
        """Return the whole critic for a snapshot, on rank 0."""
        return self._optimizer.trained()


def _beside(values: Tensor, array: Floats) -> Tensor:
    """Return an array as float32 on the device of `values`."""
    return torch.from_numpy(array).to(values.device, torch.float32)
