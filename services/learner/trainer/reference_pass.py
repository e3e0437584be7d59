"""Passes over a step's batch without gradient: log-probabilities, entropies, a teacher, the critic's values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from torch import Tensor

from hone.algorithms.slots import READERS, method, needs
from hone.models.policy import Policy
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Batch, Flags, Floats, Unpackable
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from hone.trajectory.teaching import TeacherLogprobs, stored_teacher, under_context
from services.learner.trainer.forward import Forward

_FORWARD = frozenset({"logp_ref", "logp_old", "entropy", "expected"})
"""Needs of slots that a forward pass over the batch computes."""


@dataclass(frozen=True)
class PolicyValues:
    """Values of M tokens under the policy's current weights, float64 [M]; None: no slot reads them."""

    logp: Floats | None = None
    entropy: Floats | None = None
    expected: Floats | None = None


@dataclass(frozen=True)
class BeforeUpdate:
    """Values of a step's M trained tokens before its first update, float64 [M]; None: no slot reads them."""

    logp_old: Floats | None = None
    logp_ref: Floats | None = None
    entropy: Floats | None = None
    expected: Floats | None = None
    values: Floats | None = None
    teacher: TeacherLogprobs | None = None

    @property
    def policy(self) -> PolicyValues:
        """Part of it that the policy itself computed."""
        return PolicyValues(self.logp_old, self.entropy, self.expected)

    @cached_property
    def logp_teacher(self) -> Floats | None:
        """The teacher's log-probabilities; the policy's own at tokens that the teacher has not judged: no difference.
        """
        if self.teacher is None or self.logp_old is None:
            return None
        return np.where(self.teacher.known, self.teacher.logp, self.logp_old)


@dataclass(frozen=True)
class ReferencePass:
    """The models before a step's first update."""

    forward: Forward
    policy: Policy
    reference_logp: Callable[[MicroBatch, float], Tensor]
    critic_values: Callable[[Batch], Floats] | None = None

    def run(self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory]) -> BeforeUpdate:
        """Return the values that the step's slots need. Raises Unpackable when the batch's teacher does not fit."""
        wanted = _over_the_batch(plan)
        computed = self.forward.over_batch(batch, partial(self._outputs, plan, wanted)) if wanted else {}
        teacher = self._teacher(plan, batch, trajectories)
        critic_values = self.critic_values if "values" in needed(plan) else None
        return BeforeUpdate(
            **computed, values=None if critic_values is None else critic_values(batch), teacher=teacher)

    def now(self, plan: StepPlan, batch: Batch, chosen: Flags) -> PolicyValues:
        """Return the inputs of the step's modulation for the chosen trajectories [B] under the current weights.

        Other trajectories' tokens have 0.
        """
        wanted = needs(plan.slots, "modulation") & {"expected"}
        computed = self.forward.over_batch(batch, partial(self._outputs, plan, wanted), chosen)
        return PolicyValues(computed.get("logp_old"), computed.get("entropy"), computed.get("expected"))

    def _outputs(self, plan: StepPlan, wanted: frozenset[str], micro: MicroBatch) -> dict[str, Tensor]:
        computed = self.policy(micro, plan.temperature, expected="expected" in wanted)
        named = dict(zip(("logp_old", "entropy", "expected"), computed, strict=False))
        if "logp_ref" in wanted:
            named["logp_ref"] = self.reference_logp(micro, plan.temperature)
        return named

    def _teacher(self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory]) -> TeacherLogprobs | None:
        if not needed(plan) & {"logp_teacher", "support"}:
            return None
        if plan.teacher == "model":
            return stored_teacher(batch, trajectories, "teacher")
        if plan.teacher == "context":
            return self._privileged(plan, batch, trajectories)
        raise Unpackable("teacher: found none, expected a model or the policy in another context")

    def _privileged(self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory]) -> TeacherLogprobs:
        """Return the policy's own log-probabilities under its privileged context, at the step's temperature."""
        moved, known = under_context(batch, trajectories, "privileged")
        computed = self.forward.over_batch(moved, partial(self._likeliest, plan))
        none = np.zeros((len(known), 0))
        return TeacherLogprobs(
            computed["logp"], known, computed.get("top_ids", none).astype(np.int64), computed.get("top_logp", none))

    def _likeliest(self, plan: StepPlan, micro: MicroBatch) -> dict[str, Tensor]:
        logp, _, *top = self.policy(micro, plan.temperature, top_k=plan.top_k)
        return {"logp": logp, **dict(zip(("top_ids", "top_logp"), top, strict=False))}


def needed(plan: StepPlan) -> frozenset[str]:
    """Return the inputs that the methods in a step's slots need, named as in `Params.needs`."""
    return needs(plan.slots, *READERS)


def _over_the_batch(plan: StepPlan) -> frozenset[str]:
    """Return the inputs that need a forward pass over the whole batch.

    S4 to S6 read them before the first update; later updates compare their log-probabilities with those before it.
    """
    before = needs(plan.slots, "advantage", "modulation", "correction")
    compared = {"logp_old"} if plan.updates > 1 and method(plan.slots, "loss").reads_advantage else set[str]()
    return (before | compared) & _FORWARD
