"""The critic beside the policy: values before a step's first update, and its own updates towards the returns.

    critic = TrainedCritic.of(snapshot, settings, forward)    None where there is none; settings: a CriticSpec as JSON
    values = critic.values(batch)                             before the first update, for GAE
    aims = Aims.of(plan, batch, known)                        for all updates of the step
    critic.learn(batch, mine, aims, scale, sums)             adds to its gradient
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
from services.learner.trainer.snapshot import Snapshot, Trained
from services.learner.trainer.step_weights import Known, advantage_inputs


@dataclass(frozen=True)
class Aims:
    """What the critic learns of a step's M trained tokens, float64 [M]: fixed before the step's first update."""

    returns: Floats
    values: Floats  # as they were

    @classmethod
    def of(cls, plan: StepPlan, batch: Batch, known: Known) -> "Aims":
        """Return the aims of a step whose advantage is GAE. Raises ValueError where no values are known."""
        params = GaeParams.model_validate(plan.slots["advantage"]["params"])
        return cls(returns(advantage_inputs(batch, plan, known), params), cast(Floats, known.values))

    def figures(self) -> Metrics:
        """Return how well the values before the first update knew the returns."""
        return {
            "critic/value_mean": float(self.values.mean()), "critic/return_mean": float(self.returns.mean()),
            "critic/explained_variance": explained(self.returns, self.returns - self.values)}


class TrainedCritic:
    """A critic with its own optimizer; every rank calls each method at the same place."""

    def __init__(
        self, trained: Trained, architecture: Architecture, settings: Mapping[str, Any], forward: Forward,
    ) -> None:
        """Stand where `trained` was taken. Raises pydantic.ValidationError unless `settings` are a CriticSpec."""
        self._spec, self._forward = CriticSpec.model_validate(settings), forward
        self._module = Critic(architecture, trained.weights, forward.ranks)
        self._optimizer = Optimizer(self._module.trained, self._spec.optimizer, forward.ranks, trained)

    @classmethod
    def of(
        cls, snapshot: Snapshot, settings: Mapping[str, Any] | None, forward: Forward,
    ) -> "TrainedCritic | None":
        """Return a snapshot's critic, None where it has none. Raises ValueError where settings do not say the same."""
        if snapshot.critic is None and settings is None:
            return None
        if snapshot.critic is None or settings is None:
            there = [name for name, one in (("weights", snapshot.critic), ("settings", settings)) if one is not None]
            raise ValueError(f"critic: found {there[0]} alone, expected weights and settings, or neither")
        return cls(snapshot.critic, snapshot.architecture, settings, forward)

    def values(self, batch: Batch) -> Floats:
        """Return the present value before each of a batch's trained tokens, [M], in units of reward."""
        return self._forward.told(batch, lambda micro: {"values": self._module(micro)})["values"]

    def learn(self, batch: Batch, mine: Flags, aims: Aims, scale: Tensor, sums: MetricSums) -> None:
        """Add the gradient of sum_t scale_t loss_t over the trajectories that `mine` [B] marks, and sum up its figures.

        scale: float32 [M], weight of each of the step's tokens. Gradients are added in the order of the micro-batches,
        so that the number of threads changes no bit. Those that the policy skips count: a value may be wrong where no
        advantage differs.
        """
        for together in self._forward.rounds(batch, mine):
            values = self._forward.each(self._module, together)
            parts = [self._share(*each, aims, scale, sums) for each in zip(together, values, strict=True)]
            self._forward.backward(parts, self._module.trained)

    def _share(self, micro: MicroBatch, values: Tensor, aims: Aims, scale: Tensor, sums: MetricSums) -> Tensor:
        """Return a micro-batch's share of the loss; one that trains nothing has 0, which reaches every parameter."""
        if not len(values):
            return values.sum()
        wanted, before = (_of(values, each[micro.token]) for each in (aims.returns, aims.values))
        loss = critic_loss(values, wanted, before, self._spec.clip)
        held = loss.detach() > 0.5 * (values.detach() - wanted).square()
        sums.add({"critic/loss": float(loss.detach().mean()), "critic/clip_fraction": float(held.float().mean())},
                  len(loss))
        return (_of(values, scale.numpy()[micro.token]) * loss).sum()

    def clip(self) -> float:
        """Scale the gradient down to the critic's own norm where it is larger and return the norm that it had."""
        return self._optimizer.clip(self._spec.optimizer.clip_norm)

    def step(self) -> None:
        """Apply the gradient at the critic's own rate and clear it."""
        self._optimizer.step(self._spec.optimizer.lr)

    def restart(self) -> None:
        """Go on with new moments."""
        self._optimizer.restart()

    def trained(self) -> Trained:
        """Return what a snapshot keeps, whole, on rank 0."""
        return self._optimizer.trained()


def _of(values: Tensor, array: Floats) -> Tensor:
    """Return an array as float32 beside `values`."""
    return torch.from_numpy(array).to(values.device, torch.float32)
