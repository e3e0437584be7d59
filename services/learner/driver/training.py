"""What a run trains during one of its stages: its tasks, its slots, and how much is asked for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from hone.algorithms import presets
from hone.algorithms.slots import FROM_ROWS
from hone.spec import batches
from hone.spec.run import RunSpec, Slot
from hone.spec.stages import Stage, stages
from hone.store.database import Database
from hone.store.objects import Objects
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Peers, Task
from services.learner.driver.supervised import Supervised
from services.learner.driver.tasks import Tasks


class Training:
    """One stage of a leased run."""

    def __init__(
        self, stage: Stage, database: Database, objects: Objects, peers: Peers, lease: RunLease, run: Tasks,
    ) -> None:
        self.stage, self.lease = stage, replace(lease, spec=stage.spec)
        self.slots: dict[str, Any] = presets.resolve(stage.spec.algorithm)
        self.tasks = Tasks(database, objects, peers, self.lease, run)
        self.supervised = Supervised(database, objects, self.lease)
        self._peers = peers

    @property
    def supervises(self) -> bool:
        """Whether it learns from what a dataset gives."""
        return self.slots["builder"]["name"] in FROM_ROWS

    @cached_property
    def most_groups(self) -> int:
        """Groups that may be open for a step, with those that its filter may cost."""
        spec, rounds = self.stage.spec, self.slots["filter"]["params"].get("max_rounds", 0)
        return spec.batch.prompts * (1 + spec.max_staleness + int(rounds))

    def allocation(self, tasks: Sequence[Task], step: int) -> list[int]:
        """Return how many rollouts each task of a step gets.

        What the step before showed is left out: it may be known or not when this is asked.
        """
        slot = Slot.model_validate(self.slots["allocation"])
        return self._peers.allocate(self.lease.run_id, slot, [task.content_hash for task in tasks],
                                    len(tasks) * self.stage.spec.batch.samples, before_step=step - 1)

    def baselines(self, step: int) -> Callable[[list[str]], dict[str, float]]:
        """Return what knows the mean outcome of tasks over the steps before this one."""
        return lambda hashes: self._peers.baselines(self.lease.run_id, hashes, step)


class Trainings:
    """All stages of a leased run, in order."""

    def __init__(self, database: Database, objects: Objects, peers: Peers, lease: RunLease, run: Tasks) -> None:
        self._all = [Training(stage, database, objects, peers, lease, run) for stage in stages(lease.spec)]

    def of(self, step: int) -> Training:
        """Return the stage that a step belongs to; beyond the last step, the last one."""
        return next((one for one in self._all if step <= one.stage.last), self._all[-1])


def sizes(spec: RunSpec) -> list[int]:
    """Return the groups of each step of a checked spec, in order."""
    return [size for stage in stages(spec) for size in batches.sizes(stage.spec)]
