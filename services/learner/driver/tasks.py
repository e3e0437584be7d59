"""The tasks of a run: of each source an environment's stream, or a dataset's rows in a seeded order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hone.algorithms import presets
from hone.algorithms.mixtures import Draws, shares
from hone.algorithms.slots import BUILDERS
from hone.environments.rows import Sieve
from hone.environments.tasks import make
from hone.environments.trainable import TrainableRows
from hone.resolution import sources
from hone.resolution.sources import Source
from hone.spec.run import EvalSpec, TaskSource
from hone.store.database import Database
from hone.store.disk_arrays import HASH, Column, as_hex, permutation
from hone.store.leases import fenced
from hone.store.objects import Objects
from services.learner.driver.chosen_tasks import ChosenTasks
from services.learner.driver.datasets import DatasetRows
from services.learner.driver.held_out import HeldOut, places_of
from services.learner.driver.lease import RunLease
from services.learner.driver.manifests import Manifest
from services.learner.driver.peers import Peers, Task
from services.learner.driver.policy_text import PolicyText
from services.learner.driver.reporting import Event, record_once
from services.learner.driver.watch import Watch

Places = NDArray[np.int64]
"""Places of rows in a dataset."""
_LONGEST_REASONS = 500
"""Characters of the reasons in an event."""
_DRAWN = 1024
"""Tasks that simulation is asked for at a time, so that other runs' requests come between."""
_TRIES, _TRIES_MORE = 64, 1024
"""Places of a stream, for each held-out task and more, after which the split has no more of them. The last of N equally
likely tasks comes after about N ln N places."""

Made = TypeVar("Made")


class UnknownDataset(LookupError):
    """The run names a dataset that its tenant does not have."""


class NoTasks(LookupError):
    """A dataset has no row to train on, or none to evaluate on."""


class Tasks:
    """Training and held-out tasks of one run, or of one stage of it. A task follows from the spec and its place alone.

    In a mixture the source of a place is drawn by the run's seed, and each source counts its own places. Rows of a
    training dataset that `held_out_rows` names are kept for evaluation. If evaluation has a dataset of its own, its
    rows are held out instead, and training rows with the same content are left out. If evaluation draws tasks from an
    environment, or there is none, every row trains. A stage leaves out the tasks that its `run` holds out.
    """

    def __init__(
        self, database: Database, objects: Objects, peers: Peers, lease: RunLease, watch: Watch,
        run: "Tasks | None" = None,
    ) -> None:
        self._database, self._objects, self._peers, self._lease = database, objects, peers, lease
        self._watch, self._run, self._sources = watch, run, sources.of(lease.spec)
        self.text: PolicyText = run.text if run else PolicyText(database, objects, lease.model_id, lease.spec)
        self._orders: dict[str, tuple[int, Places]] = {}  # by source: an epoch and its permutation, the last used
        self._chosen_by: dict[str, tuple[Manifest, ChosenTasks]] = {}  # by source: the last used
        self._training: dict[str, Places] = {}  # by source: places of the rows that train
        self._datasets: dict[str, DatasetRows] = run._datasets if run else {}  # by the JSON of their source

    def train(self, first: int, count: int, manifest: Manifest | None = None) -> list[Task]:
        """Return the training tasks at places `first … first+count-1`, drawn by a manifest if there is one.

        Raises Interrupted, NoTasks, UnknownDataset.
        """
        return self._mixed(first, count, self._of_source if manifest is None else partial(self._chosen, manifest))

    def train_rows(self, first: int, count: int) -> list[dict[str, Any]]:
        """Return the dataset rows at places `first …`. Each epoch is a new permutation of a source's training rows.

        Raises NoTasks, UnknownDataset, Interrupted.
        """
        return self._mixed(first, count, self._rows_of_source)

    def _mixed(self, first: int, count: int, make_some: Callable[[Source, int, int], Sequence[Made]]) -> list[Made]:
        """Return the tasks of sources at these places; `make_some` makes those of one source."""
        if len(self._sources) == 1:
            return list(make_some(self._sources[0], first, count))
        drawn, before = self._draws.sources(first, count), self._draws.before(first)
        made = [iter(make_some(one, int(before[number]), int((drawn == number).sum())))
                for number, one in enumerate(self._sources)]
        return [next(made[number]) for number in drawn]

    @cached_property
    def _draws(self) -> Draws:
        task, weights = self._lease.spec.task, [one.weight for one in self._sources]
        given = [weight for weight in weights if weight is not None]
        sizes = given or [float(len(self._training_rows(one))) for one in self._sources]
        return Draws(self._lease.spec.seed, given or list(shares(sizes, task.temperature or 1.0)))

    def _of_source(self, source: Source, first: int, count: int) -> list[Task]:
        if source.spec.task.dataset is None:
            return self._drawn(source, first, count)
        return [_dataset_task(row, source) for row in self._rows_of_source(source, first, count)]

    def _chosen(self, manifest: Manifest, source: Source, first: int, count: int) -> list[Task]:
        """Return the tasks that a manifest puts at these places of a source; where it puts none, the source's own."""
        known = self._chosen_by.get(source.name)
        if known is None or known[0] is not manifest:
            known = self._chosen_by[source.name] = manifest, self._choice(manifest, source)
        chosen = [known[1].task(place) for place in range(first, first + count)]
        return [self._of_source(source, first + place, 1)[0] if one is None else one
                for place, one in enumerate(chosen)]

    def _choice(self, manifest: Manifest, source: Source) -> ChosenTasks:
        task, places = source.spec.task, dict[str, int]()
        if task.dataset is not None:
            rows, kept = self._rows(task), self._training_rows(source)
            wanted = np.array([bytes.fromhex(one.task_hash) for one in manifest.entries], HASH)
            found = kept[np.isin(rows.hashes[kept], wanted)]
            places = {as_hex(rows.hashes[place]): int(place) for place in reversed(found)}
        return ChosenTasks(self._lease.spec, source, manifest, None if task.dataset is None else places,
                           lambda place: _dataset_task(self._rows(task).row(place), source))

    def _rows_of_source(self, source: Source, first: int, count: int) -> list[dict[str, Any]]:
        rows = self._training_rows(source)
        places = [rows[self._place(source, *divmod(place, len(rows)))] for place in range(first, first + count)]
        return self._rows(source.spec.task).some(np.array(places, np.int64))

    @cached_property
    def held_out(self) -> list[Task]:
        """The held-out tasks, of each source distinct by content, and never drawn for training.

        Raises NoTasks, UnknownDataset, Interrupted.
        """
        spec = self._lease.spec
        return [task for one in sources.held_out(spec) if spec.eval for task in self._held_out_of(one, spec.eval)]

    def _held_out_of(self, source: Source, spec: EvalSpec) -> list[Task]:
        task = source.spec.task
        if task.dataset is None or source.at not in self._held_out:
            return self._drawn_held_out(source, spec.seed, spec.prompts)
        places = self._held_out[source.at].places()
        if not len(places):
            raise NoTasks(f"dataset {task.dataset!r} holds no row out; expected an evaluation source, or eval: null")
        asked = places[permutation(np.random.default_rng([spec.seed, 0]), len(places))[:spec.prompts]]
        return [_dataset_task(row, source) for row in self._rows(task).some(asked)]

    def _drawn(self, source: Source, first: int, count: int) -> list[Task]:
        tasks = list[Task]()
        self._watch.begin()
        while len(tasks) < count:
            self._watch.look(f"simulation to draw tasks: {len(tasks)} of {count} so far")
            tasks += self._draw(source, "TRAIN", self._lease.spec.seed, first + len(tasks),
                                min(_DRAWN, count - len(tasks)))
        return tasks

    def _draw(
        self, source: Source, split: Literal["TRAIN", "HELD_OUT"], seed: int, first: int, count: int,
    ) -> list[Task]:
        drawn = self._peers.draw(source.spec.task, split, seed, first, count)
        return [replace(task, source=source.name) for task in drawn]

    def _drawn_held_out(self, source: Source, seed: int, count: int) -> list[Task]:
        """Draw distinct tasks, or all of an environment's that has fewer. Raises NoTasks if it has none."""
        found, place, task = dict[str, Task](), 0, source.spec.task
        self._watch.begin()
        while place < _TRIES * (len(found) + 1) + _TRIES_MORE:  # the last of N tasks comes after about N ln N draws
            self._watch.look(f"simulation to draw held-out tasks: {len(found)} of {count} so far")
            for drawn in self._draw(source, "HELD_OUT", seed, place, min(_DRAWN, max(count, 16))):
                found.setdefault(drawn.content_hash, drawn)
                if len(found) == count:
                    return list(found.values())
                place += 1
        if not found:
            raise NoTasks(f"{task.environment} with {task.params} has no task in split held_out; expected an "
                          "evaluation source, or eval: null")
        return list(found.values())

    def _training_rows(self, source: Source) -> Places:
        """Return the places of a source's rows that train. Raises NoTasks, UnknownDataset, Interrupted."""
        if source.name not in self._training:
            self._training[source.name] = self._found_training_rows(source.spec.task)
        return self._training[source.name]

    def _found_training_rows(self, task: TaskSource) -> Places:
        rows = self._rows(task)
        kept = places_of(rows, list(self._held_out.values()), held_out=False)
        if not len(kept):
            raise NoTasks(f"dataset {task.dataset!r} has {len(rows)} rows and every one is held out of training")
        columns = BUILDERS[presets.builder_of(self._lease.spec.algorithm)].columns
        return self._trainable(rows, kept, columns) if columns else kept

    def _trainable(self, rows: DatasetRows, kept: Places, columns: Sequence[str]) -> Places:
        """Return the places of rows that the model can be trained on; events name the others. Raises NoTasks."""
        sieve, good = TrainableRows(columns, self.text.tokenizer, self.text.positions), Column(np.int64)
        self._watch.begin()
        for place in kept:
            self._watch.look(f"the driver, which reads dataset {rows.name!r} as the model would: {sieve.rows} of "
                             f"{len(kept)} rows so far")
            if sieve.takes(int(rows.numbers[place]), rows.row(int(place))):
                good.add(place)
        messages = list(sieve.messages(rows.name))
        if not len(good):
            raise NoTasks("; ".join(message for _, message in messages))
        with fenced(self._database, self._lease) as transaction:
            for kind, message in messages:
                record_once(transaction, self._lease, Event(kind, message, {"of": rows.name}))
        return good.array()

    @cached_property
    def _held_out(self) -> dict[str, HeldOut]:
        """The tasks that datasets hold out, by the field of their source, whether or not all of them are asked."""
        if self._run is not None:
            return self._run._held_out
        found = [one for one in sources.held_out(self._lease.spec) if one.spec.task.dataset is not None]
        return {one.at: HeldOut(self._rows(one.spec.task), whole=one.held_out_alone, named=len(found) > 1)
                for one in found}

    def _rows(self, source: TaskSource) -> DatasetRows:
        """Return the rows of a dataset that its environment accepts. An event names the others. Raises NoTasks."""
        key = source.model_dump_json()
        if key not in self._datasets:
            self._datasets[key] = self._read(source)
        return self._datasets[key]

    def _read(self, source: TaskSource) -> DatasetRows:
        artifact = self._database.one("artifacts.dataset", tenant_id=self._lease.tenant_id, name=source.dataset)
        if artifact is None:
            raise UnknownDataset(f"dataset {source.dataset!r} does not exist")
        sieve = Sieve(source.kind, source.params, self._lacks)
        rows = DatasetRows(str(source.dataset), self._objects, artifact["manifest"]["files"]["rows.jsonl"], sieve,
                           self._watch)
        if sieve.bad and not len(rows):
            raise NoTasks(f"dataset {source.dataset!r} has {sieve.bad} rows and none is a task of {source.kind}: "
                          f"{sieve.first[0]}")
        if sieve.bad:
            self._record_bad_rows(sieve.message(rows.name))
        return rows

    def _lacks(self) -> Mapping[str, str]:
        return self.text.tokenizer.lacks

    def record_unusable(self, reasons: list[str], rows: int) -> None:
        """Record an event about rows of a step that the model cannot be trained on."""
        named = "; ".join(dict.fromkeys(reasons))[:_LONGEST_REASONS]
        of = ", ".join(dict.fromkeys(repr(one.spec.task.dataset) for one in self._sources))
        self._record_bad_rows(f"dataset {of}: {len(reasons)} of {rows} rows of a step are left out: {named}")

    def _record_bad_rows(self, message: str) -> None:
        """Record an event about a dataset's bad rows, once for a run."""
        with fenced(self._database, self._lease) as transaction:
            transaction.run("events.add_bad_rows", tenant_id=self._lease.tenant_id, run_id=self._lease.run_id,
                            message=message)

    def _place(self, source: Source, epoch: int, place: int) -> int:
        """Return the index of the row at a place of an epoch of a source."""
        known = self._orders.get(source.name)
        if known is None or known[0] != epoch:
            generator = np.random.default_rng([self._lease.spec.seed, epoch])
            known = self._orders[source.name] = epoch, permutation(generator, len(self._training_rows(source)))
        return int(known[1][place])


def _dataset_task(row: dict[str, Any], source: Source) -> Task:
    made = make(source.spec.task.kind, source.spec.task.params, 0, row)
    body = {"environment": made.environment, "params": made.params, "seed": made.seed, "item": made.item}
    return Task(body, made.content_hash, source.name)
