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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
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
from hone.trajectory.microbatches import MicroBatch, cut, nothing
from hone.trajectory.packing import Batch, Flags, Floats, Unpackable, pack, sequences
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.trainer.loss import gap, share
from services.learner.trainer.signals import Known, Signals, estimate
from services.learner.trainer.snapshot import MOMENTS, Snapshot, Start
from services.learner.trainer.tally import Tally

_FORWARD = frozenset({"logp_ref", "logp_old", "entropy", "expected"})
"""What slots may need that a forward over the batch tells."""

Seen = tuple[Tensor, Tensor, Tensor | None]
"""Log-probability, entropy, and log-probability of the reference where it is needed, [M] each."""


class RejectedPlan(ValueError):
    """The step cannot be trained as planned, and trying again will not change that."""


class Learner:
    """Trains one model; holds nothing but what `snapshot` writes."""

    def __init__(
        self, start: Start, optimizer: Mapping[str, Any], token_budget: int, threads: int = 1, ranks: Ranks = ALONE,
    ) -> None:
        """Stand where `start` was taken; each of several ranks computes one micro-batch at a time.

        `optimizer` is an OptimizerSpec as JSON; `token_budget` bounds a micro-batch's input tokens, of which `threads`
        are computed side by side. Raises Unsupported, or pydantic.ValidationError for a bad `optimizer`.
        """
        snapshot = start.snapshot
        self._ranks, self._side_by_side = ranks, 1 if ranks.divided else threads
        self._threads = ThreadPoolExecutor(threads, "micro-batch")
        self._config, self.architecture, self._token_budget = snapshot.config, snapshot.architecture, token_budget
        self._lora = snapshot.lora
        beside = None if snapshot.lora is None else Adapter(snapshot.lora, snapshot.weights)
        self._policy = Policy(self.architecture, start.base or snapshot.weights, beside, ranks)
        self._reference = self._whole_policy(snapshot.reference) if snapshot.reference else None
        self._states: dict[str, State] = dict(snapshot.states)
        self._updates = snapshot.updates
        self._optimizer = _adamw(self._policy.trained, OptimizerSpec.model_validate(optimizer))
        self._resume(snapshot)

    @classmethod
    def create(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        lora: Lora | None = None, seed: int = 0,
    ) -> "Learner":
        """Start alone from a model directory's files, as `Start.first` does."""
        return cls(Start.first(files, lora, seed), optimizer, token_budget, threads)

    @classmethod
    def restore(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        base: Mapping[str, bytes] | None = None,
    ) -> "Learner":
        """Go on alone from what `snapshot` returned, exactly; an adapter's needs the files of its `base`.

        Raises BadCheckpoint when a file is missing or broken.
        """
        return cls(Start.again(files, base), optimizer, token_budget, threads)

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
        signals = self._estimated(batch, plan)
        return {**metrics, **_counts(batch, signals), **self._run(batch, signals, plan, version_id)}

    def optim_step(self, lr: float, clip_norm: float) -> Metrics:
        """Apply AdamW at rate `lr` to the gradient, scaled down to norm `clip_norm` where it is larger, and clear it.

        A parameter without gradient counts as having a zero one. Raises RejectedPlan when the norm is not finite.
        """
        norm = self._clip(clip_norm)
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
        return weights_bytes(self._ranks.whole(self._policy.trained))

    def snapshot(self) -> dict[str, bytes]:
        """Return files from which `restore` goes on exactly, gradients in hand included."""
        trained, whole = self._policy.trained, self._ranks.whole
        moments = {kind: whole({name: self._optimizer.state[parameter][kind] for name, parameter in trained.items()})
                   for kind in MOMENTS} if self._updates else {}
        gradients = whole({name: parameter.grad for name, parameter in trained.items() if parameter.grad is not None})
        reference = None if self._reference is None else whole(self._reference.trained)
        return Snapshot(
            self._config, whole(trained), self._lora, self._updates, moments, gradients, reference, dict(self._states),
        ).files()

    def logprobs(self, ids: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability (nats, temperature 1) of every token but the first of sequences of 2 or more."""
        batch = sequences(ids)
        logp = self._log_probabilities(batch, 1.0)
        return [part.tolist() for part in np.split(logp, batch.offsets[1:])]

    def _log_probabilities(self, batch: Batch, temperature: float) -> Floats:
        """Return the log-probability of a batch's trained tokens under the present weights, [M]."""
        return self._looked(batch, lambda micro: {"logp": self._policy(micro, temperature)[0]})["logp"]

    def _looked(self, batch: Batch, look: Callable[[MicroBatch], Mapping[str, Tensor]]) -> dict[str, Floats]:
        """Return what `look` says by name of each trained token, [M] of a micro-batch, for the whole batch, [M]."""
        found: dict[str, Floats] = {}
        with torch.no_grad():
            for micro in chain.from_iterable(self._rounds(batch, np.ones(len(batch.rows), np.bool_))):
                for name, values in look(micro).items():
                    whole = found.setdefault(name, np.zeros(int(batch.tokens.sum())))
                    whole[micro.token] = values.cpu().numpy()
        return {name: self._ranks.sum(values) for name, values in found.items()}

    def _rounds(self, batch: Batch, kept: Flags) -> Iterator[list[MicroBatch]]:
        """Yield what this rank computes side by side; where only others still have something, nothing to train."""
        rank, size = self._ranks.rank, self._ranks.size
        waiting = cut(batch, kept, self._token_budget, size)
        while together := list(islice(waiting, self._side_by_side * size)):
            yield together[rank::size] or [nothing()]

    def _clip(self, clip_norm: float) -> float:
        """Scale the gradient down to norm `clip_norm` where it is larger and return the norm that it had."""
        parameters = list(self._policy.trained.values())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        norm = self._ranks.single(torch.nn.utils.get_total_norm(gradients))
        torch.nn.utils.clip_grads_with_norm_(parameters, clip_norm, norm)
        return float(norm)

    def _whole_policy(self, weights: Mapping[str, Tensor]) -> Policy:
        return Policy(self.architecture, weights, ranks=self._ranks)

    def _packed(self, plan: StepPlan, trajectories: Sequence[Trajectory]) -> Batch:
        try:
            return pack(plan, trajectories)
        except Unpackable as problem:
            raise RejectedPlan(str(problem)) from problem

    def _keep_reference(self, plan: StepPlan) -> None:
        """The weights before the first update are the reference, kept from the first step that compares with them.

        An adapter's reference is the base, which is there at any time.
        """
        if self._lora is not None or self._reference is not None or "logp_ref" not in _needs(plan):
            return
        if self._updates:
            raise RejectedPlan("logp_ref: the first step of a model must use the reference for a later one to have it")
        self._reference = self._whole_policy(self._policy.trained)

    def _estimated(self, batch: Batch, plan: StepPlan) -> Signals:
        try:
            return estimate(batch, plan, self._known(batch, plan), self._states)
        except (ValueError, KeyError) as problem:
            raise RejectedPlan(f"algorithm.advantage {plan.slots['advantage']['name']}: {problem}") from problem

    def _known(self, batch: Batch, plan: StepPlan) -> Known:
        """Return what S4 to S6 need of the whole batch before the step, by name, [M] each."""
        wanted = frozenset().union(*(needs(plan.slots, slot) for slot in ("advantage", "modulation", "correction")))
        wanted &= _FORWARD
        return self._looked(batch, partial(self._told, plan, wanted)) if wanted else {}

    def _told(self, plan: StepPlan, wanted: frozenset[str], micro: MicroBatch) -> dict[str, Tensor]:
        seen = self._policy(micro, plan.temperature, expected="expected" in wanted)
        told = dict(zip(("logp_old", "entropy", "expected"), seen, strict=False))
        if "logp_ref" in wanted:
            told["logp_ref"] = self._logp_ref(micro, plan)
        return told

    def _logp_ref(self, micro: MicroBatch, plan: StepPlan) -> Tensor:
        with torch.no_grad():
            logp: Tensor = (self._reference or self._policy)(micro, plan.temperature, adapted=False)[0]
        return logp

    def _run(self, batch: Batch, signals: Signals, plan: StepPlan, version_id: str | None) -> Metrics:
        """Forward and backward through the kept trajectories, some micro-batches side by side.

        Their shares of the loss are taken and their gradients added in order, so that the number of threads changes
        no bit.
        """
        tally = Tally()
        comparable = np.array([one == (version_id or one) != "" for one in batch.version], np.bool_)
        for together in self._rounds(batch, signals.kept):
            parts = []
            for micro, seen in zip(together, self._each(partial(self._look, plan), together), strict=True):
                parts.append(share(micro, *seen, signals, plan, self._states, tally))
                if len(micro.targets):
                    self._tell(tally, micro, seen, comparable, plan)
            self._backward(parts)
            tally.loss = sum((float(part.detach()) for part in parts), tally.loss)
        return Tally.joined(self._ranks.exchanged(tally.as_bytes())).figures()

    def _each(self, work: Callable[[MicroBatch], Seen], items: list[MicroBatch]) -> Iterable[Seen]:
        return map(work, items) if self._side_by_side == 1 else self._threads.map(work, items)

    def _look(self, plan: StepPlan, micro: MicroBatch) -> Seen:
        wanted = needs(plan.slots, "regularizers")
        logp, entropy = self._policy(micro, plan.temperature, entropy_gradient="entropy" in wanted)
        return logp, entropy, self._logp_ref(micro, plan) if "logp_ref" in wanted else None

    def _backward(self, parts: list[Tensor]) -> None:
        """Add the gradients of parts of the loss, in their order."""
        if self._side_by_side == 1:
            torch.autograd.backward(parts)  # which several ranks sum as it goes
            return
        for gradient in self._threads.map(self._gradient, parts):
            self._add(gradient)

    def _gradient(self, part: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(part, list(self._policy.trained.values()))

    def _add(self, gradient: tuple[Tensor, ...]) -> None:
        for parameter, more in zip(self._policy.trained.values(), gradient, strict=True):
            parameter.grad = more.contiguous() if parameter.grad is None else parameter.grad.add_(more)

    def _tell(self, tally: Tally, micro: MicroBatch, seen: Seen, comparable: Flags, plan: StepPlan) -> None:
        logp, entropy, _ = seen
        tally.forward_tokens += len(micro.ids)
        tally.add({"entropy": float(entropy.detach().mean())}, len(logp))
        if plan.builder != "dataset":
            tally.add(*gap(micro, logp, comparable))

    def _resume(self, snapshot: Snapshot) -> None:
        for name, parameter in self._policy.trained.items():
            if name in snapshot.gradients:
                parameter.grad = self._ranks.spread(snapshot.gradients[name], parameter)
            if snapshot.updates:
                self._optimizer.state[parameter] = {
                    "step": torch.tensor(float(snapshot.updates), device=self._ranks.device),
                    **{kind: self._ranks.spread(snapshot.optimizer[kind][name], parameter) for kind in MOMENTS}}


def _adamw(parameters: Mapping[str, Tensor], spec: OptimizerSpec) -> torch.optim.AdamW:
    """Weight decay acts on matrices; norms and biases have none."""
    matrices = [parameter for parameter in parameters.values() if parameter.dim() > 1]
    vectors = [parameter for parameter in parameters.values() if parameter.dim() == 1]
    groups = [{"params": matrices, "weight_decay": spec.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=spec.lr, betas=(spec.beta1, spec.beta2), eps=spec.eps, fused=True)


def _needs(plan: StepPlan) -> frozenset[str]:
    return needs(plan.slots, "advantage") | needs(plan.slots, "modulation") | needs(plan.slots, "regularizers")


def _counts(batch: Batch, signals: Signals) -> Metrics:
    groups, kept = np.unique(batch.group), np.unique(batch.group[signals.kept])
    return {**signals.metrics, "trajectories": float(len(batch.rows)),
            "skipped_trajectories": float((~signals.kept).sum()), "skipped_groups": float(len(groups) - len(kept))}
