"""The numeric core of the trainer: a policy, its optimizer, and the slots' state.

    learner = Learner.create(files, optimizer, token_budget=4096)   base weights, no update taken
    metrics = learner.forward_backward(plan, trajectories)          adds to the gradient
    metrics = learner.optim_step(lr, clip_norm)                     applies and clears it
    learner.weights()                                               what is trained as safetensors, deterministic bytes
    files = learner.snapshot(); Learner.restore(files, optimizer, token_budget=4096)

With `lora` an adapter beside the base is trained; then the base's files belong to `restore` too.

The same calls on the same bytes with the same token budget give the same bits, whether or not a restore lies between
them, and however many micro-batches are computed side by side.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hone.algorithms.method import Metrics, State
from hone.algorithms.slots import needs
from hone.models import adapter
from hone.models.adapter import Lora
from hone.models.checkpoint import Checkpoint, weights_bytes
from hone.models.policy import Adapter, Policy
from hone.spec.run import OptimizerSpec
from hone.trajectory.microbatches import MicroBatch, cut
from hone.trajectory.packing import Batch, Flags, Floats, Unpackable, pack
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.trainer.loss import Signals, Tally, estimate, gap, share
from services.learner.trainer.snapshot import Snapshot

_MOMENTS = ("exp_avg", "exp_avg_sq")


class RejectedPlan(ValueError):
    """The step cannot be trained as planned, and trying again will not change that."""


class Learner:
    """Trains one model; holds nothing but what `snapshot` writes."""

    def __init__(
        self, snapshot: Snapshot, optimizer: Mapping[str, Any], token_budget: int, threads: int = 1,
        base: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Stand where `snapshot` was taken; an adapter's needs the base's tensors.

        Raises Unsupported, or pydantic.ValidationError for a bad `optimizer`.
        """
        self._threads = ThreadPoolExecutor(threads, "micro-batch")
        self._side_by_side = threads
        self._config, self._architecture, self._token_budget = snapshot.config, snapshot.architecture, token_budget
        self._lora, self._base = snapshot.lora, base
        self._policy = self._made(snapshot.weights)
        self._reference = Policy(self._architecture, snapshot.reference) if snapshot.reference else None
        self._states: dict[str, State] = dict(snapshot.states)
        self._updates = snapshot.updates
        self._optimizer = _adamw(self._policy.parameters, OptimizerSpec.model_validate(optimizer))
        self._resume(snapshot)

    @classmethod
    def create(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        lora: Lora | None = None, seed: int = 0,
    ) -> "Learner":
        """Start from a model directory's files; with `lora`, from an adapter whose first values `seed` draws.

        `optimizer` is an OptimizerSpec as JSON; `token_budget` bounds a micro-batch's input tokens, of which `threads`
        are computed side by side. Raises BadCheckpoint or Unsupported when the files are no usable model.
        """
        checkpoint = Checkpoint.from_files(files)
        if lora is None:
            return cls(Snapshot(checkpoint.config, checkpoint.tensors), optimizer, token_budget, threads)
        first = adapter.initial(checkpoint.architecture, lora, seed)
        return cls(Snapshot(checkpoint.config, first, lora), optimizer, token_budget, threads, checkpoint.tensors)

    @classmethod
    def restore(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        base: Mapping[str, bytes] | None = None,
    ) -> "Learner":
        """Go on from what `snapshot` returned, exactly; an adapter's needs the files of its `base`.

        Raises BadCheckpoint when a file is missing or broken.
        """
        tensors = None if base is None else Checkpoint.from_files(base).tensors
        return cls(Snapshot.from_files(files), optimizer, token_budget, threads, tensors)

    def forward_backward(
        self, plan: StepPlan, trajectories: Sequence[Trajectory], version_id: str | None = None
    ) -> Metrics:
        """Add the gradient of the step's loss and return its figures.

        `version_id` names the present weights: the trainer-sampler gap is that of samples drawn from them alone; with
        None any sample of one version counts.
        Raises RejectedPlan when plan and trajectories do not fit, or a reference is asked for after the first update.
        """
        batch = self._packed(plan, trajectories)
        metrics = {"masked_samples": float(batch.masked_samples), "rejected_rows": float(batch.rejected_rows),
                   "trained_tokens": float(batch.tokens.sum())}
        if not batch.rows:
            return metrics
        self._keep_reference(plan)
        signals = estimate(batch, plan, self._kl(batch, plan), self._states)
        return {**metrics, **_counts(batch, signals), **self._run(batch, signals, plan, version_id)}

    def optim_step(self, lr: float, clip_norm: float) -> Metrics:
        """Apply AdamW at rate `lr` to the gradient, scaled down to norm `clip_norm` where it is larger, and clear it.

        A parameter without gradient counts as having a zero one. Raises RejectedPlan when the norm is not finite.
        """
        parameters = list(self._policy.parameters.values())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, clip_norm))
        if not np.isfinite(norm):
            raise RejectedPlan(f"gradient norm: found {norm}, expected a finite number")
        for group in self._optimizer.param_groups:
            group["lr"] = lr
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self._updates += 1
        return {"grad_norm": norm}

    def weights(self) -> bytes:
        """Return the float32 weights that are trained as a safetensors file; equal weights give equal bytes."""
        return weights_bytes(self._policy.parameters)

    def snapshot(self) -> dict[str, bytes]:
        """Return files from which `restore` goes on exactly, gradients in hand included."""
        parameters = self._policy.parameters
        moments = {kind: {name: self._optimizer.state[parameter][kind] for name, parameter in parameters.items()}
                   for kind in _MOMENTS} if self._updates else {}
        gradients = {name: parameter.grad for name, parameter in parameters.items() if parameter.grad is not None}
        kept = self._reference if self._lora is None else None  # an adapter's is its base
        reference = None if kept is None else dict(kept.parameters)
        return Snapshot(
            self._config, dict(parameters), self._lora, self._updates, moments, gradients, reference,
            dict(self._states)).files()

    def _made(self, weights: Mapping[str, Tensor]) -> Policy:
        """Return the policy with these trained weights; an adapter's base is shared."""
        if self._lora is None or self._base is None:
            return Policy(self._architecture, weights)
        return Policy(self._architecture, self._base, Adapter(self._lora, weights))

    def _packed(self, plan: StepPlan, trajectories: Sequence[Trajectory]) -> Batch:
        try:
            return pack(plan, trajectories)
        except Unpackable as problem:
            raise RejectedPlan(str(problem)) from problem

    def _keep_reference(self, plan: StepPlan) -> None:
        """The weights before the first update are the reference, kept from the first step that compares with them.

        An adapter's reference is the base, which is there at any time.
        """
        if self._reference is not None or "logp_ref" not in _needs(plan):
            return
        if self._lora is not None:
            self._reference = self._made({})
            return
        if self._updates:
            raise RejectedPlan("logp_ref: the first step of a model must use the reference for a later one to have it")
        self._reference = Policy(self._architecture, self._policy.parameters)

    def _kl(self, batch: Batch, plan: StepPlan) -> Floats | None:
        """Return logp_old - logp_ref of every trained token, [M], where the advantage needs it."""
        if "logp_ref" not in needs(plan.slots, "advantage"):
            return None
        kl = np.empty(int(batch.tokens.sum()))
        for micro in cut(batch, np.ones(len(batch.rows), np.bool_), self._token_budget):
            with torch.no_grad():
                old, _ = self._policy(micro, plan.temperature)
            kl[micro.token] = (old - self._logp_ref(micro, plan)).numpy()
        return kl

    def _logp_ref(self, micro: MicroBatch, plan: StepPlan) -> Tensor:
        if self._reference is None:
            raise RejectedPlan("logp_ref: no reference is kept")
        with torch.no_grad():
            logp, _ = self._reference(micro, plan.temperature)
        return logp

    def _run(self, batch: Batch, signals: Signals, plan: StepPlan, version_id: str | None) -> Metrics:
        """Forward and backward through the kept trajectories, some micro-batches side by side.

        Their shares of the loss are taken and their gradients added in order, so that the number of threads changes
        no bit.
        """
        tally, loss, tokens = Tally(), 0.0, 0
        comparable = np.array([one == (version_id or one) != "" for one in batch.version], np.bool_)
        waiting = cut(batch, signals.kept, self._token_budget)
        while together := list(islice(waiting, self._side_by_side)):
            parts = []
            for micro, seen in zip(together, self._threads.map(partial(self._look, plan), together), strict=True):
                parts.append(share(micro, *seen, signals, plan, self._states, tally))
                self._tell(tally, micro, seen, comparable, plan)
            for gradient in self._threads.map(self._gradient, parts):
                self._add(gradient)
            loss = sum((float(part.detach()) for part in parts), loss)
            tokens += sum(len(micro.ids) for micro in together)
        return {"loss": loss, "forward_tokens": float(tokens), **tally.figures()}

    def _look(self, plan: StepPlan, micro: MicroBatch) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return log-probability, entropy, and log-probability of the reference where it is needed, [M] each."""
        wanted = needs(plan.slots, "regularizers")
        logp, entropy = self._policy(micro, plan.temperature, entropy_gradient="entropy" in wanted)
        return logp, entropy, self._logp_ref(micro, plan) if "logp_ref" in wanted else None

    def _gradient(self, part: Tensor) -> tuple[Tensor | None, ...]:
        return torch.autograd.grad(part, list(self._policy.parameters.values()), allow_unused=True)

    def _add(self, gradient: tuple[Tensor | None, ...]) -> None:
        for parameter, more in zip(self._policy.parameters.values(), gradient, strict=True):
            if more is not None:
                parameter.grad = more.contiguous() if parameter.grad is None else parameter.grad.add_(more)

    def _tell(
        self, tally: Tally, micro: MicroBatch, seen: tuple[Tensor, Tensor, Tensor | None], comparable: Flags,
        plan: StepPlan,
    ) -> None:
        logp, entropy, _ = seen
        tally.add({"entropy": float(entropy.detach().mean())}, len(logp))
        if plan.builder != "dataset":
            tally.add(*gap(micro, logp, comparable))

    def _resume(self, snapshot: Snapshot) -> None:
        for name, gradient in snapshot.gradients.items():
            self._policy.parameters[name].grad = gradient
        if not snapshot.updates:
            return
        names = {id(parameter): name for name, parameter in self._policy.parameters.items()}
        ordered = [names[id(parameter)] for group in self._optimizer.param_groups for parameter in group["params"]]
        state = {place: {"step": torch.tensor(float(snapshot.updates)),
                         **{kind: snapshot.optimizer[kind][name] for kind in _MOMENTS}}
                 for place, name in enumerate(ordered)}
        self._optimizer.load_state_dict({**self._optimizer.state_dict(), "state": state})


def _adamw(parameters: Mapping[str, Tensor], spec: OptimizerSpec) -> torch.optim.AdamW:
    """Weight decay acts on matrices; norms and biases have none."""
    matrices = [parameter for parameter in parameters.values() if parameter.dim() > 1]
    vectors = [parameter for parameter in parameters.values() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": spec.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=spec.lr, betas=(spec.beta1, spec.beta2), eps=spec.eps, fused=True)


def _needs(plan: StepPlan) -> frozenset[str]:
    return needs(plan.slots, "advantage") | needs(plan.slots, "regularizers")


def _counts(batch: Batch, signals: Signals) -> Metrics:
    groups, kept = np.unique(batch.group), np.unique(batch.group[signals.kept])
    return {**signals.metrics, "trajectories": float(len(batch.rows)),
            "skipped_trajectories": float((~signals.kept).sum()), "skipped_groups": float(len(groups) - len(kept))}
