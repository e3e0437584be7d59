"""The numeric core of the trainer: a policy, its optimizer, and the slots' state.

    learner = Learner.create(files, optimizer, token_budget=4096)   base weights, no update taken
    metrics = learner.forward_backward(plan, trajectories)          adds to the gradient
    metrics = learner.optim_step(lr, clip_norm)                     applies the gradient and clears it
    learner.weights()                                               the trained weights as a safetensors file
    files = learner.snapshot(); Learner.restore(files, optimizer, token_budget=4096)

With `lora` an adapter beside the base is trained. `restore` then needs the base's files too.

Equal calls on equal bytes with an equal token budget give equal bits. This holds across a restore, and for any number
of micro-batches that are computed at the same time.

Several ranks make the same calls at the same time (`rank_group`). Each computes its share of the micro-batches, and all
return the same metrics. Only rank 0 returns files; they are equal for any number of ranks up to rounding.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hone.algorithms.method import Metrics
from hone.models import probe
from hone.models.adapter import Lora
from hone.models.checkpoint import weights_bytes
from hone.models.policy import Adapter, Policy
from hone.models.probe import Probe
from hone.models.ranks import ALONE, Ranks
from hone.spec.run import OptimizerSpec
from hone.trajectory import parts
from hone.trajectory.packing import sequences
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from services.learner.trainer.critic import TrainedCritic
from services.learner.trainer.forward import Forward
from services.learner.trainer.optimizer import Optimizer
from services.learner.trainer.snapshot import Snapshot, Start
from services.learner.trainer.training_step import Models, RejectedPlan, TrainingStep, check_finite


class Learner:
    """Trains one model. Between two steps it holds nothing that `snapshot` does not write."""

    def __init__(
        self, start: Start, optimizer: Mapping[str, Any], token_budget: int, threads: int = 1, ranks: Ranks = ALONE,
        critic: Mapping[str, Any] | None = None,
    ) -> None:
        """Begin at `start`.

        `optimizer` is an OptimizerSpec as JSON, `critic` a CriticSpec if there is a critic. `token_budget` bounds the
        input tokens of a micro-batch. One process computes `threads` micro-batches at the same time, each of several
        ranks computes one. Raises Unsupported, ValueError if only one of `critic` and `start` has a critic, or
        pydantic.ValidationError for bad settings.
        """
        snapshot, forward = start.snapshot, Forward(token_budget, threads, ranks)
        self._config, self.architecture, self.rank_count = snapshot.config, snapshot.architecture, ranks.size
        adapter = None if snapshot.lora is None else Adapter(snapshot.lora, snapshot.policy.weights)
        policy = Policy(self.architecture, start.base or snapshot.policy.weights, adapter, ranks)
        reference = Policy(self.architecture, snapshot.reference, ranks=ranks) if snapshot.reference else None
        spec = OptimizerSpec.model_validate(optimizer)
        self.models = Models(
            policy, snapshot.lora, Optimizer(policy.trained, spec, ranks, snapshot.policy), forward, reference,
            TrainedCritic.of(snapshot, critic, forward), dict(snapshot.states))
        self._step: TrainingStep | None = None

    @classmethod
    def create(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        lora: Lora | None = None, seed: int = 0, critic: Mapping[str, Any] | None = None,
    ) -> "Learner":
        """Start in one process from a model directory's files, as `Start.first` does."""
        start = Start.first(files, lora, seed, critic=critic is not None)
        return cls(start, optimizer, token_budget, threads, critic=critic)

    @classmethod
    def restore(
        cls, files: Mapping[str, bytes], optimizer: Mapping[str, Any], *, token_budget: int, threads: int = 1,
        base: Mapping[str, bytes] | None = None, critic: Mapping[str, Any] | None = None,
    ) -> "Learner":
        """Go on in one process exactly from the files of `snapshot`; an adapter needs the files of its `base` too.

        Raises BadCheckpoint when a file is missing or broken.
        """
        return cls(Start.again(files, base), optimizer, token_budget, threads, critic=critic)

    def forward_backward(
        self, plan: StepPlan, trajectories: Sequence[Trajectory], version_id: str | None = None, update: int = 0,
    ) -> Metrics:
        """Add the gradient of one update of a step to the gradient, and return the update's metrics.

        Only update 0 takes trajectories: the others use its batch, its advantages, and its log-probabilities from
        before the first update. `version_id` names the weights before update 0: the trainer-sampler gap is measured
        on trajectories that this version alone has sampled (None: any one version).
        Raises RejectedPlan when plan and trajectories do not fit together, an update comes without the updates before
        it, or a reference is needed after the first update of a stage.
        """
        if update == 0:
            self._step = TrainingStep.begin(self.models, plan, trajectories)
        step = self._step
        if step is None or step.plan.n != plan.n:
            raise RejectedPlan(f"update {update} of step {plan.n}: found no update of the step before it")
        metrics = step.update(self.models, update, version_id)
        self._step = None if update + 1 == plan.updates else step
        return metrics

    def forward_backward_stored(
        self, plan: StepPlan, stored: Sequence[bytes], version_id: str | None = None, update: int = 0,
    ) -> Metrics:
        """Do `forward_backward` with the trajectories that the plan takes from its parts, whose bytes are `stored`.

        Only update 0 takes parts. Seconds of decoding are in the metrics as storage/read_s.
        """
        began = time.perf_counter()
        trajectories = [] if update else parts.planned(plan, stored)
        seconds = time.perf_counter() - began
        return {**self.forward_backward(plan, trajectories, version_id, update), "storage/read_s": seconds}

    def optim_step(self, lr: float, clip_norm: float) -> Metrics:
        """Apply AdamW at rate `lr` to the gradient, clipped to norm `clip_norm`, and clear the gradient.

        The same call updates a critic, at the rate and norm of its own spec. A parameter without gradient counts as
        having a zero one. Raises Diverged, and applies nothing, when a norm is not finite.
        """
        critic = self.models.critic
        norms = {"grad_norm": self.models.optimizer.clip(clip_norm)}
        if critic is not None:
            norms["critic/grad_norm"] = critic.clip()
        check_finite("gradient norm", norms)
        self.models.optimizer.step(lr)
        if critic is not None:
            critic.step()
        return norms

    def weights(self) -> bytes:
        """Return the trained float32 weights as a safetensors file; equal weights give equal bytes."""
        return weights_bytes(self.models.forward.ranks.whole(self.models.policy.trained))

    def snapshot(self) -> dict[str, bytes]:
        """Return files from which `restore` goes on exactly. They include a gradient that is not yet applied.

        Raises RuntimeError between two updates of a step: a snapshot does not keep the step's batch and weights.
        """
        if self._step is not None:
            raise RuntimeError(f"snapshot: found step {self._step.plan.n} under way, expected its last update first")
        models, whole = self.models, self.models.forward.ranks.whole
        reference = None if models.reference is None else whole(models.reference.trained)
        critic = None if models.critic is None else models.critic.trained()
        return Snapshot(
            self._config, models.optimizer.trained(), models.lora, reference, dict(models.states), critic).files()

    def logprobs(self, ids: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-probability (nats, temperature 1) of every token but the first of sequences of 2 or more."""
        batch, policy = sequences(ids), self.models.policy
        logp = self.models.forward.over_batch(batch, lambda micro: {"logp": policy(micro, 1.0)[0]})["logp"]
        return [row.tolist() for row in np.split(logp, batch.offsets[1:])]

    def probe(self) -> dict[str, Any]:
        """Return the log-probabilities that an engine with these weights must give, as a version's `probe`."""
        asked = probe.ids(self.architecture)
        return Probe(asked, self.logprobs(asked)).to_json()
