"""The numeric core of the trainer: a policy, its optimizer, and the slots' state.

    learner = Learner.create(files, optimizer, token_budget=4096)   base weights, no update taken
    metrics = learner.forward_backward(plan, trajectories)          adds to the gradient
    metrics = learner.optim_step(lr, clip_norm)                     applies and clears it
    learner.weights()                                               what is trained as safetensors, deterministic bytes
    files = learner.snapshot(); Learner.restore(files, optimizer, token_budget=4096)

With `lora` an adapter beside the base is trained; then the base's files belong to `restore` too.

The same calls on the same bytes with the same token budget give the same bits, whether or not a restore lies between
them, and however many micro-batches are computed side by side. Several ranks make the same calls at the same time, each
computes its share of the micro-batches, and all return the same figures; files are written by rank 0, and are the same
for any number of ranks up to rounding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.method import Metrics, State
from hone.algorithms.slots import needs
from hone.models.adapter import Lora
from hone.models.checkpoint import weights_bytes
from hone.models.policy import Adapter, Policy
from hone.models.ranks import ALONE, Ranks
from hone.spec.run import OptimizerSpec
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Batch, Floats, Unpackable, pack, sequences
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.trainer.critic import Aims, TrainedCritic
from services.learner.trainer.forward import Forward
from services.learner.trainer.loss import ForwardOutputs, gap, share
from services.learner.trainer.metric_sums import MetricSums
from services.learner.trainer.optimizer import Optimizer
from services.learner.trainer.reference_pass import ReferencePass, needed
from services.learner.trainer.snapshot import Snapshot, Start
from services.learner.trainer.step_weights import Known, StepWeights, estimate


class RejectedPlan(ValueError):
    """The step cannot be trained as planned, and trying again will not change that."""


@dataclass(frozen=True)
class _Step:
    """A step that is under way: its updates share what was fixed before the first."""

    plan: StepPlan
    batch: Batch
    weights: StepWeights | None  # None: nothing of it counts
    metrics: Metrics
    aims: Aims | None = None  # of the critic, where its values were read


class Learner:
    """Trains one model; between two steps it holds nothing but what `snapshot` writes."""

    def __init__(
        self, start: Start, optimizer: Mapping[str, Any], token_budget: int, threads: int = 1, ranks: Ranks = ALONE,
        critic: Mapping[str, Any] | None = None,
    ) -> None:
        """Stand where `start` was taken; each of several ranks computes one micro-batch at a time.

        `optimizer` is an OptimizerSpec as JSON, `critic` a CriticSpec where there is one; `token_budget` bounds a
        micro-batch's input tokens, of which `threads` are computed side by side. Raises Unsupported,
        ValueError where only one of `critic` and `start` has a critic, or pydantic.ValidationError for bad settings.
        """
        snapshot = start.snapshot
        self._ranks, self._forward = ranks, Forward(token_budget, threads, ranks)
        self._config, self.architecture = snapshot.config, snapshot.architecture
        self._step: _Step | None = None
        self._lora = snapshot.lora
        beside = None if snapshot.lora is None else Adapter(snapshot.lora, snapshot.policy.weights)
        self._policy = Policy(self.architecture, start.base or snapshot.policy.weights, beside, ranks)
        self._reference = self._whole_policy(snapshot.reference) if snapshot.reference else None
        self._states: dict[str, State] = dict(snapshot.states)
        spec = OptimizerSpec.model_validate(optimizer)
        self._optimizer = Optimizer(self._policy.trained, spec, ranks, snapshot.policy)
        self._critic = TrainedCritic.of(snapshot, critic, self._forward)

    @classmethod
    def create(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        lora: Lora | None = None, seed: int = 0, critic: Mapping[str, Any] | None = None,
    ) -> "Learner":
        """Start alone from a model directory's files, as `Start.first` does."""
        start = Start.first(files, lora, seed, critic=critic is not None)
        return cls(start, optimizer, token_budget, threads, critic=critic)

    @classmethod
    def restore(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        base: Mapping[str, bytes] | None = None, critic: Mapping[str, Any] | None = None,
    ) -> "Learner":
        """Go on alone from what `snapshot` returned, exactly; an adapter's needs the files of its `base`.

        Raises BadCheckpoint when a file is missing or broken.
        """
        return cls(Start.again(files, base), optimizer, token_budget, threads, critic=critic)

    def forward_backward(
        self, plan: StepPlan, trajectories: Sequence[Trajectory], version_id: str | None = None, update: int = 0,
    ) -> Metrics:
        """Add the gradient of the step's loss, or of its part that `update` is of, and return its figures.

        Advantages and the log-probabilities that ratios compare with are those before update 0. `version_id` names the
        weights before it: the trainer-sampler gap is that of samples drawn from them alone; with None any sample of
        one version counts.
        Raises RejectedPlan when plan and trajectories do not fit, an update comes without those before it, or a
        reference is asked for after the first update of a stage.
        """
        if update == 0:
            self._step = self._begun(plan, trajectories)
        step = self._step
        if step is None or step.plan.n != plan.n:
            raise RejectedPlan(f"update {update} of step {plan.n}: found no update of the step before it")
        figures = {} if step.weights is None else self._run(step, step.weights, version_id, update)
        self._step = None if update + 1 == plan.updates else step
        return {**step.metrics, **figures} if update == 0 else figures

    def optim_step(self, lr: float, clip_norm: float) -> Metrics:
        """Apply AdamW at rate `lr` to the gradient, scaled down to norm `clip_norm` where it is larger, and clear it.

        A critic is updated by the same call, as its own spec says. A parameter without gradient counts as having a
        zero one. Raises RejectedPlan, with nothing applied, when a norm is not finite.
        """
        norms = {"grad_norm": self._optimizer.clip(clip_norm)}
        if self._critic is not None:
            norms["critic/grad_norm"] = self._critic.clip()
        for name, norm in norms.items():
            if not np.isfinite(norm):
                raise RejectedPlan(f"gradient norm: found {name} {norm}, expected a finite number")
        self._optimizer.step(lr)
        if self._critic is not None:
            self._critic.step()
        return norms

    def weights(self) -> bytes:
        """Return the float32 weights that are trained as a safetensors file; equal weights give equal bytes."""
        return weights_bytes(self._ranks.whole(self._policy.trained))

    def snapshot(self) -> dict[str, bytes]:
        """Return files from which `restore` goes on exactly, gradients in hand included.

        Raises RuntimeError between the updates of a step: what they share is kept nowhere.
        """
        if self._step is not None:
            raise RuntimeError(f"snapshot: found step {self._step.plan.n} under way, expected its last update first")
        reference = None if self._reference is None else self._ranks.whole(self._reference.trained)
        critic = None if self._critic is None else self._critic.trained()
        return Snapshot(
            self._config, self._optimizer.trained(), self._lora, reference, dict(self._states), critic).files()

    def logprobs(self, ids: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability (nats, temperature 1) of every token but the first of sequences of 2 or more."""
        batch = sequences(ids)
        logp = self._log_probabilities(batch, 1.0)
        return [part.tolist() for part in np.split(logp, batch.offsets[1:])]

    def _log_probabilities(self, batch: Batch, temperature: float) -> Floats:
        """Return the log-probability of a batch's trained tokens under the present weights, [M]."""
        return self._forward.told(batch, lambda micro: {"logp": self._policy(micro, temperature)[0]})["logp"]

    def _whole_policy(self, weights: Mapping[str, Tensor]) -> Policy:
        return Policy(self.architecture, weights, ranks=self._ranks)

    def _packed(self, plan: StepPlan, trajectories: Sequence[Trajectory]) -> Batch:
        try:
            return pack(plan, trajectories)
        except Unpackable as problem:
            raise RejectedPlan(str(problem)) from problem

    def _keep_reference(self, plan: StepPlan) -> None:
        """The weights before a stage's first update are its reference, kept from its first step if it compares.

        An adapter's reference is the base, which is there at any time.
        """
        if self._lora is not None or self._reference is not None or "logp_ref" not in needed(plan):
            return
        if self._optimizer.updates:
            raise RejectedPlan("logp_ref: the first step of a stage must use the reference for a later one to have it")
        self._reference = self._whole_policy(self._policy.trained)

    def _begun(self, plan: StepPlan, trajectories: Sequence[Trajectory]) -> _Step:
        """Fix what every update of the step shares."""
        if plan.first > 1 and plan.nth == 1:
            self._begin_stage()
        self._keep_reference(plan)
        batch = self._packed(plan, trajectories)
        metrics = {"masked_samples": float(batch.masked_samples), "rejected_rows": float(batch.rejected_rows),
                   "trained_tokens": 0.0}
        if not batch.rows:
            return _Step(plan, batch, None, metrics)
        known, weights = self._estimated(plan, batch, trajectories)
        aims = None if known.values is None else Aims.of(plan, batch, known)
        told = {} if aims is None else aims.figures()
        return _Step(plan, batch, weights, {**metrics, **_counts(batch, weights), **told}, aims)

    def _begin_stage(self) -> None:
        """Go on with the weights alone, as a run that starts from them."""
        self._reference, self._states = None, {}
        self._optimizer.restart()
        if self._critic is not None:
            self._critic.restart()

    def _estimated(
        self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory],
    ) -> tuple[Known, StepWeights]:
        prior = ReferencePass(self._forward, self._policy, self._logp_ref)
        try:
            known = prior.known(plan, batch, trajectories)
            if self._critic is not None and "values" in needed(plan):
                known = replace(known, values=self._critic.values(batch))
            return known, estimate(batch, plan, known, self._states)
        except Unpackable as problem:
            raise RejectedPlan(str(problem)) from problem
        except (ValueError, KeyError) as problem:
            raise RejectedPlan(f"algorithm.advantage {plan.slots['advantage']['name']}: {problem}") from problem

    def _logp_ref(self, micro: MicroBatch, temperature: float) -> Tensor:
        with torch.no_grad():
            logp: Tensor = (self._reference or self._policy)(micro, temperature, adapted=False)[0]
        return logp

    def _run(self, step: _Step, weights: StepWeights, version_id: str | None, update: int) -> Metrics:
        """Forward and backward through an update's kept trajectories, some micro-batches side by side.

        Their shares of the loss are taken and their gradients added in order, so that the number of threads changes
        no bit.
        """
        plan, batch, sums = step.plan, step.batch, MetricSums()
        mine = weights.part == update % plan.minibatches
        comparable = np.array([one == (version_id or one) != "" for one in batch.version], np.bool_)
        for together in self._forward.rounds(batch, weights.kept & mine):
            parts = []
            looks = self._forward.each(partial(self._look, plan, weights), together)
            for micro, seen in zip(together, looks, strict=True):
                parts.append(share(micro, seen, weights, plan, self._states, sums))
                if len(micro.targets):
                    _tell(sums, micro, seen)
                    if plan.sampled and update == 0:
                        sums.add(*gap(micro, seen.logp, comparable))
            self._forward.backward(parts, self._policy.trained)
            sums.loss = sum((float(part.detach()) for part in parts), sums.loss)
        if self._critic is not None and step.aims is not None:
            self._critic.learn(batch, mine, step.aims, weights.scale, sums)
        figures = MetricSums.joined(self._ranks.exchanged(sums.as_bytes())).figures()
        return {**figures, "trained_tokens": float(batch.tokens[mine].sum())}

    def _look(self, plan: StepPlan, weights: StepWeights, micro: MicroBatch) -> ForwardOutputs:
        wanted = needs(plan.slots, "regularizers")
        ids = weights.teaching.top_ids[micro.token] if weights.teaching and "support" in needed(plan) else None
        logp, entropy, *likeliest = self._policy(
            micro, plan.temperature, entropy_gradient="entropy" in wanted, support=ids)
        ref = self._logp_ref(micro, plan.temperature) if "logp_ref" in wanted else None
        return ForwardOutputs(logp, entropy, ref, (likeliest[0], likeliest[1]) if likeliest else None)


def _tell(sums: MetricSums, micro: MicroBatch, seen: ForwardOutputs) -> None:
    sums.forward_tokens += len(micro.ids)
    sums.add({"entropy": float(seen.entropy.detach().mean())}, len(seen.logp))


def _counts(batch: Batch, weights: StepWeights) -> Metrics:
    groups, kept = np.unique(batch.group), np.unique(batch.group[weights.kept])
    responses = sum(len(row.response) for rows in batch.rows for row in rows)
    return {**weights.metrics, "trajectories": float(len(batch.rows)),
            "skipped_trajectories": float((~weights.kept).sum()), "skipped_groups": float(len(groups) - len(kept)),
            "trained/mask_share": 1 - float(batch.tokens.sum()) / responses}
