"""The step source of a preflight: the base answers the run's first tasks once, and nothing is trained.

The base is published as its own files, which are stored already: no trainer is needed, and no weights are copied.
"""

import json
from typing import Final

from hone import ids
from hone.resolution.stages import Stage
from hone.store.database import Transaction
from services.learner.driver.budgets import Granted
from services.learner.driver.decisions import GroupRequest, PlannedStep, PlanStep, RequestGroups, StepSource
from services.learner.driver.lease import Preflight, RunLease
from services.learner.driver.tasks import Tasks
from services.learner.driver.view import View

PURPOSE: Final = "pilot"
STEP = 1


class PreflightSamples(StepSource):
    """Requests one group of samples for each of the first tasks."""

    def __init__(self, stage: Stage, size: Preflight, tasks: Tasks) -> None:
        """`stage` is the one whose tasks are drawn."""
        self.stage, self._size, self._tasks = stage, size, tasks

    def next_action(self, view: View) -> RequestGroups | None:
        """Request the groups once the base and the models of asked roles are published."""
        if view.version_id is None or view.unpublished or view.open(PURPOSE, STEP).total:
            return None
        return RequestGroups(STEP, 0, self._size.tasks, view.version_id, PURPOSE)

    def group_request(self, action: RequestGroups) -> GroupRequest:
        """Return the first tasks of the run, each with the same number of rollouts."""
        tasks = self._tasks.train(action.first_task, action.count)
        return GroupRequest(tasks, [Granted(self._size.samples)] * len(tasks))

    def plan(self, action: PlanStep) -> PlannedStep:
        """Plan nothing: a preflight never trains."""
        raise LookupError(f"a preflight has no step {action.step} to plan")

    def prepare(self, view: View) -> None:
        """Do nothing: there is one request."""


def publish(transaction: Transaction, lease: RunLease) -> None:
    """Publish version 0 of the base and of each role's model, made of the files that they were registered with."""
    for model_id in dict.fromkeys((lease.model_id, *lease.roles.values())):
        row = transaction.one("models.base_manifest", model_id=model_id)
        if row is None or row["manifest"] is None:
            raise LookupError(f"model {model_id} has no base")
        manifest = {name: row["manifest"][name] for name in ("files", "probe", "weights_sha256")
                    if name in row["manifest"]}
        transaction.run("versions.add", id=ids.new("ver"), tenant_id=lease.tenant_id, model_id=model_id, seq=0,
                        number=0, parent_id=None, manifest=json.dumps(manifest))
        transaction.run("server.notify", channel="versions", payload=model_id)
