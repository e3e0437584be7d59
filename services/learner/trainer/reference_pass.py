"""What is found out about a step before its first update: how it looks to the present weights, and to a teacher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from torch import Tensor

from hone.algorithms.slots import READERS, method, needs
from hone.models.policy import Policy
from hone.trajectory.microbatches import MicroBatch
from hone.trajectory.packing import Batch, Unpackable
from hone.trajectory.plan import StepPlan
from hone.trajectory.records import Trajectory
from hone.trajectory.teaching import Taught, elsewhere, taught
from services.learner.trainer.forward import Forward
from services.learner.trainer.step_weights import Known

_FORWARD = frozenset({"logp_ref", "logp_old", "entropy", "expected"})
"""What slots may need that a forward over the batch tells."""


@dataclass(frozen=True)
class ReferencePass:
    """The weights before a step's first update."""

    forward: Forward
    policy: Policy
    logp_ref: Callable[[MicroBatch, float], Tensor]

    def known(self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory]) -> Known:
        """Return what the slots need of the whole batch. Raises Unpackable when its teacher does not fit."""
        wanted = _of_batch(plan)
        told = self.forward.told(batch, partial(self._told, plan, wanted)) if wanted else {}
        return Known(**told, taught=self._taught(plan, batch, trajectories))

    def _told(self, plan: StepPlan, wanted: frozenset[str], micro: MicroBatch) -> dict[str, Tensor]:
        seen = self.policy(micro, plan.temperature, expected="expected" in wanted)
        told = dict(zip(("logp_old", "entropy", "expected"), seen, strict=False))
        if "logp_ref" in wanted:
            told["logp_ref"] = self.logp_ref(micro, plan.temperature)
        return told

    def _taught(self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory]) -> Taught | None:
        if not needed(plan) & {"logp_teacher", "support"}:
            return None
        if plan.teacher == "model":
            return taught(batch, trajectories, "teacher")
        if plan.teacher == "context":
            return self._privileged(plan, batch, trajectories)
        raise Unpackable("teacher: found none, expected the word of a model or of the policy in another context")

    def _privileged(self, plan: StepPlan, batch: Batch, trajectories: Sequence[Trajectory]) -> Taught:
        """Let the policy say what it would with its privileged context, at the temperature that it acts at."""
        moved, known = elsewhere(batch, trajectories, "privileged")
        told = self.forward.told(moved, partial(self._likely, plan))
        none = np.zeros((len(known), 0))
        return Taught(told["logp"], known, told.get("top_ids", none).astype(np.int64), told.get("top_logp", none))

    def _likely(self, plan: StepPlan, micro: MicroBatch) -> dict[str, Tensor]:
        logp, _, *top = self.policy(micro, plan.temperature, top_k=plan.top_k)
        return {"logp": logp, **dict(zip(("top_ids", "top_logp"), top, strict=False))}


def needed(plan: StepPlan) -> frozenset[str]:
    """Return the words that the fillings of a step's slots need, as `Params.needs` has them."""
    return needs(plan.slots, *READERS)


def _of_batch(plan: StepPlan) -> frozenset[str]:
    """Name what has to be known of the whole batch: what S4 to S6 read, and what later updates compare with."""
    before = needs(plan.slots, "advantage", "modulation", "correction")
    compared = {"logp_old"} if plan.updates > 1 and method(plan.slots, "loss").reads_advantage else set[str]()
    return (before | compared) & _FORWARD
