"""One training step: from trajectories to the gradient of each of its updates.

    step = TrainingStep.begin(models, plan, trajectories)     everything that comes before the first update
    metrics = step.update(models, number, version_id)         update 0, 1, ...; after each the optimizer takes its step

1. Trajectories are packed into a batch of token rows.
2. Passes over the batch compute what is needed from before the update: log-probabilities under the current and the
   reference weights, a teacher's log-probabilities, the critic's values.
3. From these follow the step weights: the advantage of each token and its weight in the loss.
4. A modulation that reads the current weights is applied in each of several updates, after a pass over its minibatch.
5. In each update every micro-batch goes forward, gets its loss, and goes backward.

Each of several ranks computes its share of the micro-batches. All return the same metrics.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.method import Metrics, State
from hone.algorithms.slots import needs
from hone.models.adapter import Lora
from hone.models.policy import Policy
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Batch, Flags, Unpackable, pack
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.trainer.critic import CriticTargets, TrainedCritic
from services.learner.trainer.forward import Forward
from services.learner.trainer.loss import ForwardOutputs, micro_batch_loss, sampler_gap
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.optimizer import Optimizer
from services.learner.trainer.reference_pass import ReferencePass, needed
from services.learner.trainer.step_weights import StepWeights, compute_step_weights


class RejectedPlan(ValueError):
    """The step cannot be trained as planned. Another attempt would fail in the same way."""


class Diverged(RejectedPlan):
    """Training has led to numbers that are not finite: a loss, a gradient's norm, or log-probabilities."""


def check_finite(subject: str, numbers: Mapping[str, float]) -> None:
    """Raise Diverged with the name and value of the first number that is not finite."""
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise Diverged(f"{subject}: found {name} {number}, expected a finite number")


@dataclass
class Models:
    """The models of a learner, and everything else that it keeps from one step to the next."""

    policy: Policy
    lora: Lora | None  # form of the policy's adapter; None: all weights are trained
    optimizer: Optimizer
    forward: Forward
    reference: Policy | None  # weights before a stage's first update, if a slot compares with them
    critic: TrainedCritic | None
    states: dict[str, State]  # of the slots, by name

    def restart(self) -> None:
        """Keep the weights and nothing else, as a run that starts from them."""
        self.reference = None
        self.states.clear()
        self.optimizer.restart()
        if self.critic is not None:
            self.critic.restart()

    def keep_reference(self, plan: StepPlan) -> None:
        """Copy the weights as reference before a stage's first update, if its first step compares with them.

        The reference of an adapter is its base, which needs no copy. Raises RejectedPlan after the first update.
        """
        if self.lora is not None or self.reference is not None or "logp_ref" not in needed(plan):
            return
        if self.optimizer.updates:
            raise RejectedPlan("logp_ref: the first step of a stage must use the reference for a later one to have it")
        self.reference = Policy(self.policy.architecture, self.policy.trained, ranks=self.forward.ranks)

    def reference_logp(self, micro: MicroBatch, temperature: float) -> Tensor:
        """Return the reference's log-probability of each trained token, float32 [M]."""
        with torch.no_grad():
            logp: Tensor = (self.reference or self.policy)(micro, temperature, adapted=False)[0]
        return logp


@dataclass(frozen=True)
class TrainingStep:
    """A step that has begun. Its updates share everything that was computed before the first one."""

    plan: StepPlan
    batch: Batch
    metrics: Metrics  # known before the first update
    weights: StepWeights | None = None  # None: the batch is empty
    critic_targets: CriticTargets | None = None  # None: the step reads no critic

    @classmethod
    def begin(cls, models: Models, plan: StepPlan, trajectories: Sequence[Trajectory]) -> "TrainingStep":
        """Pack the trajectories and compute everything that comes before the first update.

        Raises RejectedPlan when plan and trajectories do not fit together, or when a slot needs something that is not
        there, such as a reference after the first update of a stage.
        """
        if plan.first > 1 and plan.nth == 1:
            models.restart()
        models.keep_reference(plan)
        batch = _packed(plan, trajectories)
        if not batch.rows:
            return cls(plan, batch, _batch_metrics(batch))
        critic_values = None if models.critic is None else models.critic.values
        reference_pass = ReferencePass(models.forward, models.policy, models.reference_logp, critic_values)
        with _problems_of_the_plan(plan):
            before = reference_pass.run(plan, batch, trajectories)
            weights = compute_step_weights(batch, plan, before, models.states)
        targets = None if before.values is None else CriticTargets.of(plan, batch, before)
        metrics = {**_batch_metrics(batch), **_weight_metrics(batch, weights)}
        return cls(plan, batch, metrics if targets is None else {**metrics, **targets.metrics()}, weights, targets)

    def update(self, models: Models, number: int, version_id: str | None) -> Metrics:
        """Add the gradient of update `number` to the models' parameters and return its metrics.

        Losses and gradients are added in the order of the micro-batches. Their sums do not depend, to the bit, on how
        many micro-batches are computed at the same time. See Learner.forward_backward for `version_id`.
        """
        if self.weights is None:
            return self.metrics if number == 0 else {}
        sums, in_update = MetricSums(), self.weights.minibatch == number % self.plan.minibatches
        weights, modulation_metrics = self._weights_now(models, self.weights, number, in_update)
        drawn_now = self._drawn_from(version_id) if self.plan.groups and number == 0 else None
        for micros in models.forward.rounds(self.batch, weights.kept & in_update):
            losses = []
            for micro, outputs in zip(micros, models.forward.each(partial(self._forward, models), micros), strict=True):
                losses.append(micro_batch_loss(micro, outputs, weights, self.plan, models.states, sums))
                _add_metrics(sums, micro, outputs, drawn_now)
            models.forward.backward(losses, models.policy.trained)
            sums.loss = sum((float(loss.detach()) for loss in losses), sums.loss)
        if models.critic is not None and self.critic_targets is not None:
            models.critic.learn(self.batch, in_update, self.critic_targets, weights.scale, sums)
        of_all_ranks = MetricSums.joined(models.forward.ranks.all_gather(sums.as_bytes()))
        metrics = {**of_all_ranks.metrics(), **modulation_metrics,
                   "trained_tokens": float(self.batch.tokens[in_update].sum())}
        return {**self.metrics, **metrics} if number == 0 else metrics

    def _weights_now(
        self, models: Models, weights: StepWeights, number: int, in_update: Flags
    ) -> tuple[StepWeights, Metrics]:
        """Return the weights of update `number`, with advantages that its modulation makes by the current weights."""
        if weights.modulation is None or not in_update.any():
            return weights, {}
        reference_pass = ReferencePass(models.forward, models.policy, models.reference_logp)
        now = (weights.modulation.before.policy if number == 0
               else reference_pass.now(self.plan, self.batch, in_update))
        with _problems_of_the_plan(self.plan):
            return weights.of_update(now, in_update, models.states)

    def _forward(self, models: Models, micro: MicroBatch) -> ForwardOutputs:
        plan, teacher = self.plan, None if self.weights is None else self.weights.teacher
        wanted = needs(plan.slots, "regularizers")
        teacher_ids = teacher.top_ids[micro.token] if teacher and "support" in needed(plan) else None
        logp, entropy, *top = models.policy(
            micro, plan.temperature, entropy_gradient="entropy" in wanted, support=teacher_ids)
        reference = models.reference_logp(micro, plan.temperature) if "logp_ref" in wanted else None
        return ForwardOutputs(logp, entropy, reference, (top[0], top[1]) if top else None)

    def _drawn_from(self, version_id: str | None) -> Flags:
        """Return which trajectories [B] this version alone has sampled; None: any one version."""
        return np.array([one == (version_id or one) != "" for one in self.batch.version], np.bool_)


def _packed(plan: StepPlan, trajectories: Sequence[Trajectory]) -> Batch:
    try:
        return pack(plan, trajectories)
    except Unpackable as problem:
        raise RejectedPlan(str(problem)) from problem


@contextmanager
def _problems_of_the_plan(plan: StepPlan) -> Iterator[None]:
    """Raise what a method finds wrong with its inputs as RejectedPlan."""
    try:
        yield
    except Unpackable as problem:
        raise RejectedPlan(str(problem)) from problem
    except (ValueError, KeyError) as problem:
        raise RejectedPlan(f"algorithm.advantage {plan.slots['advantage']['name']}: {problem}") from problem


def _batch_metrics(batch: Batch) -> Metrics:
    return {"masked_samples": float(batch.masked_samples), "rejected_rows": float(batch.rejected_rows),
            "trained_tokens": 0.0}


def _weight_metrics(batch: Batch, weights: StepWeights) -> Metrics:
    groups, kept = np.unique(batch.group), np.unique(batch.group[weights.kept])
    responses = sum(len(row.response) for rows in batch.rows for row in rows)
    return {**weights.metrics, "trajectories": float(len(batch.rows)),
            "skipped_trajectories": float((~weights.kept).sum()), "skipped_groups": float(len(groups) - len(kept)),
            "trained/mask_share": 1 - float(batch.tokens.sum()) / responses}


def _add_metrics(sums: MetricSums, micro: MicroBatch, outputs: ForwardOutputs, drawn_now: Flags | None) -> None:
    if not len(micro.targets):
        return
    sums.forward_tokens += len(micro.ids)
    sums.add({"entropy": float(outputs.entropy.detach().mean())}, len(outputs.logp))
    if drawn_now is not None:
        sums.add(*sampler_gap(micro, outputs.logp, drawn_now))
