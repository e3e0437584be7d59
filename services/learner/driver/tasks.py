"""The tasks of a run: an environment's stream, or a dataset's rows in a seeded order."""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS
from hone.environments.rows import Sieve
from hone.environments.tasks import held_out_rows, make
from hone.environments.trainable import TrainableRows
from hone.spec.run import TaskSource
from hone.store import manifests
from hone.store.database import Database
from hone.store.leases import fenced
from hone.store.objects import Objects
from services.learner.driver.lease import RunLease
from services.learner.driver.peers import Peers, Task
from services.learner.driver.policy_text import PolicyText
from services.learner.driver.reporting import Event, record_once

NumberedRow = tuple[int, dict[str, Any]]
_LONGEST_REASONS = 500
"""Characters of the reasons in an event."""


class UnknownDataset(LookupError):
    """The run names a dataset that its tenant does not have."""


class NoTasks(LookupError):
    """A dataset has no row to train on, or none to evaluate on."""


class Tasks:
    """Training and held-out tasks of one run, or of one stage of it. A task follows from the spec and its place alone.

    Rows of a training dataset that `held_out_rows` names are kept for evaluation. If evaluation has a dataset of its
    own, its rows are held out instead, and training rows with the same content are left out. If evaluation draws tasks
    from an environment, or there is none, every row trains. A stage leaves out the tasks that its `run` holds out.
    """

    def __init__(
        self, database: Database, objects: Objects, peers: Peers, lease: RunLease, run: "Tasks | None" = None,
    ) -> None:
        self._database, self._objects, self._peers, self._lease = database, objects, peers, lease
        self._run = run
        self.text: PolicyText = run.text if run else PolicyText(database, objects, lease.model_id, lease.spec)
        self._order: tuple[int, list[int]] = (-1, [])  # an epoch and its permutation: the one that was used last

    def train(self, first: int, count: int) -> list[Task]:
        """Return the training tasks at places `first … first+count-1`."""
        source = self._lease.spec.task
        if source.dataset is None:
            return self._peers.draw(source, "TRAIN", self._lease.spec.seed, first, count, distinct=False)
        rows = self.train_rows(first, count)
        return [_dataset_task(row, source) for row in rows]

    def train_rows(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return the dataset rows at places `first …`. Each epoch is a new permutation of the training rows."""
        rows = self._training_rows
        return [rows[self._place(*divmod(place, len(rows)))] for place in range(first, first + count)]

    @cached_property
    def held_out(self) -> list[Task]:
        """The held-out tasks, distinct by content and never drawn for training. Raises NoTasks, UnknownDataset."""
        spec = self._lease.spec.eval
        if spec is None:
            return []
        source = spec.source or self._lease.spec.task
        if source.dataset is None:
            return self._peers.draw(source, "HELD_OUT", spec.seed, 0, spec.prompts, distinct=True)
        tasks = list(self._held_out_rows.values())
        if not tasks:
            raise NoTasks(f"dataset {source.dataset!r} holds no row out; expected an evaluation source, or eval: null")
        return [tasks[place] for place in _permutation(spec.seed, 0, len(tasks))[: spec.prompts]]

    @cached_property
    def _training_rows(self) -> list[dict[str, Any]]:
        source, taken = self._lease.spec.task, self._held_out_rows
        rows = self._numbered_rows(source)
        kept = [one for one in rows if _dataset_task(one[1], source).content_hash not in taken] if taken else rows
        if not kept:
            raise NoTasks(f"dataset {source.dataset!r} has {len(rows)} rows and every one is held out of training")
        columns = BUILDERS[presets.builder_of(self._lease.spec.algorithm)].columns
        return self._trainable(kept, columns) if columns else [row for _, row in kept]

    def _trainable(self, rows: list[NumberedRow], columns: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows that the model can be trained on; events name the others. Raises NoTasks."""
        sieve, dataset = TrainableRows(columns, self.text.tokenizer, self.text.positions), self._lease.spec.task.dataset
        good = [row for number, row in rows if sieve.takes(number, row)]
        messages = list(sieve.messages(str(dataset)))
        if not good:
            raise NoTasks("; ".join(message for _, message in messages))
        with fenced(self._database, self._lease) as transaction:
            for kind, message in messages:
                record_once(transaction, self._lease, Event(kind, message, {"of": str(dataset)}))
        return good

    @cached_property
    def _held_out_rows(self) -> dict[str, Task]:
        """The tasks that a dataset holds out, by content hash, whether or not an evaluation asks all of them."""
        if self._run is not None:
            return self._run._held_out_rows
        spec = self._lease.spec.eval
        source = None if spec is None else spec.source or self._lease.spec.task
        if spec is None or source is None or source.dataset is None:
            return {}
        found: dict[str, Task] = {}
        for task in (_dataset_task(row, source) for row in self._rows(source)):
            found.setdefault(task.content_hash, task)
        kept = held_out_rows(found) if spec.source is None else found
        return {content_hash: task for content_hash, task in found.items() if content_hash in kept}

    def _rows(self, source: TaskSource) -> list[dict[str, Any]]:
        return [row for _, row in self._numbered_rows(source)]

    def _numbered_rows(self, source: TaskSource) -> list[NumberedRow]:
        """Return the rows of a dataset that its environment accepts, each with its number from 1. Raises NoTasks.

        An event names the others.
        """
        sieve = Sieve(source.kind, source.params, self._lacks)
        good = [(number, row) for number, row in enumerate(self._stored(source), 1)
                if sieve.content_hash(row) is not None]
        if sieve.bad and not good:
            raise NoTasks(f"dataset {source.dataset!r} has {sieve.bad} rows and none is a task of {source.kind}: "
                          f"{sieve.first[0]}")
        if sieve.bad:
            self._record_bad_rows(sieve.message(str(source.dataset)))
        return good

    def _lacks(self) -> Mapping[str, str]:
        return self.text.tokenizer.lacks

    def record_unusable(self, reasons: list[str], rows: int) -> None:
        """Record an event about rows of a step that the model cannot be trained on."""
        named = "; ".join(dict.fromkeys(reasons))[:_LONGEST_REASONS]
        self._record_bad_rows(f"dataset {self._lease.spec.task.dataset!r}: {len(reasons)} of {rows} rows of a step are "
                              f"left out: {named}")

    def _record_bad_rows(self, message: str) -> None:
        """Record an event about a dataset's bad rows, once for a run."""
        with fenced(self._database, self._lease) as transaction:
            transaction.run("events.add_bad_rows", tenant_id=self._lease.tenant_id, run_id=self._lease.run_id,
                            message=message)

    def _stored(self, source: TaskSource) -> list[dict[str, Any]]:
        artifact = self._database.one("artifacts.dataset", tenant_id=self._lease.tenant_id, name=source.dataset)
        if artifact is None:
            raise UnknownDataset(f"dataset {source.dataset!r} does not exist")
        data = manifests.get_file(self._objects, artifact["manifest"]["files"]["rows.jsonl"])
        return [json.loads(line) for line in data.splitlines() if line.strip()]  # of bytes: texts may hold U+2028

    def _place(self, epoch: int, place: int) -> int:
        """Return the index of the row at a place of an epoch."""
        if self._order[0] != epoch:
            self._order = epoch, _permutation(self._lease.spec.seed, epoch, len(self._training_rows))
        return self._order[1][place]


def _dataset_task(row: dict[str, Any], source: TaskSource) -> Task:
    made = make(source.kind, source.params, 0, row)
    body = {"environment": made.environment, "params": made.params, "seed": made.seed, "item": made.item}
    return Task(body, made.content_hash)


def _permutation(seed: int, epoch: int, size: int) -> list[int]:
    return [int(place) for place in np.random.default_rng([seed, epoch]).permutation(size)]
