"""Where a run's tasks come from: an environment's stream by place, or a dataset's rows in a seeded order."""

import json
from functools import cached_property
from typing import Any

import numpy as np

from hone.environments import tasks as environments
from hone.spec.run import TaskSource
from hone.store import manifests
from hone.store.database import Database
from hone.store.objects import Objects
from services.learner.driver.lease import Lease
from services.learner.driver.peers import Peers, Task


class UnknownDataset(LookupError):
    """The run names a dataset that its tenant does not have."""


class Tasks:
    """Training and held-out tasks of one run; both are functions of the spec and a place, never of time."""

    def __init__(self, database: Database, objects: Objects, peers: Peers, lease: Lease) -> None:
        self._database, self._objects, self._peers, self._lease = database, objects, peers, lease

    def train(self, first: int, count: int) -> list[Task]:
        """Return the training tasks at places `first … first+count-1`."""
        source = self._lease.spec.task
        if source.environment is not None:
            return self._peers.draw(source, "TRAIN", self._lease.spec.seed, first, count, distinct=False)
        rows = self.train_rows(first, count)
        return [_dataset_task(row, source) for row in rows]

    def train_rows(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return the dataset rows at places `first …`: every epoch is a fresh permutation of the training rows."""
        rows = self._training_rows
        return [rows[self._order(place // len(rows))[place % len(rows)]] for place in range(first, first + count)]

    @cached_property
    def held_out(self) -> list[Task]:
        """The held-out tasks, distinct by content and never drawn for training."""
        spec = self._lease.spec.eval
        if spec is None:
            return []
        source = spec.source or self._lease.spec.task
        if source.environment is not None:
            return self._peers.draw(source, "HELD_OUT", spec.seed, 0, spec.prompts, distinct=True)
        distinct = {task.content_hash: task for task in (_dataset_task(row, source) for row in self._rows(source))}
        kept = distinct.values() if spec.source else [t for t in distinct.values() if _held_out(t.content_hash)]
        return sorted(kept, key=lambda task: task.content_hash)[: spec.prompts]

    @cached_property
    def _training_rows(self) -> list[dict[str, Any]]:
        source, spec = self._lease.spec.task, self._lease.spec.eval
        rows = self._rows(source)
        if spec is None:
            return rows
        taken = {task.content_hash for task in self.held_out}
        hashes = [_dataset_task(row, source).content_hash for row in rows]
        return [row for row, key in zip(rows, hashes, strict=True)
                if key not in taken and (spec.source is not None or not _held_out(key))]

    def _rows(self, source: TaskSource) -> list[dict[str, Any]]:
        with self._database.transaction() as transaction:
            artifact = transaction.one("driver.dataset_artifact", tenant_id=self._lease.tenant_id, name=source.dataset)
        if artifact is None:
            raise UnknownDataset(f"dataset {source.dataset!r} does not exist")
        data = manifests.get_file(self._objects, artifact["manifest"]["files"]["rows.jsonl"])
        return [json.loads(line) for line in data.decode().splitlines() if line.strip()]

    def _order(self, epoch: int) -> list[int]:
        if epoch not in self._orders:
            order = np.random.default_rng([self._lease.spec.seed, epoch]).permutation(len(self._training_rows))
            self._orders = {epoch: order.tolist()}
        return self._orders[epoch]

    @cached_property
    def _orders(self) -> dict[int, list[int]]:
        return {}


def _dataset_task(row: dict[str, Any], source: TaskSource) -> Task:
    made = environments.make("dataset", source.params, 0, row)
    body = {"environment": made.environment, "params": made.params, "seed": made.seed, "item": made.item}
    return Task(body, made.content_hash)


def _held_out(content_hash: str) -> bool:
    return environments.split_of(content_hash) == "held_out"
