"""Reads the datasets that a spec takes tasks from, and checks their rows.

A row is a task if the environment accepts it. The run's driver leaves rows out by the same rule
(hone.environments.rows).
"""

import asyncio
import json
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hone.environments.contract import Row
from hone.environments.rows import Sieve, lines
from hone.environments.tasks import RowSplit
from hone.resolution import sources, stages
from hone.resolution.sources import Source
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, TaskSource
from hone.store import disk_arrays
from hone.store.disk_arrays import HASH, Column, as_hex
from hone.store.objects import ObjectMissing, Objects
from services.gateway.middleware.tenancy import TenantSession

FILE = "rows.jsonl"
"""Name of a dataset's file of rows."""

Hashes = NDArray[np.bytes_]
"""Content hashes of 32 bytes each, on disk, because a dataset may have many rows."""

log = logging.getLogger(__name__)

_READERS, _OF_A_TENANT = 4, 2
_reader = ThreadPoolExecutor(_READERS, "task-rows")
_places: dict[str, asyncio.Semaphore] = {}
Read = TypeVar("Read")


async def read_apart(tenant_id: str, read: Callable[..., Read], *arguments: Any) -> Read:
    """Return the result of a function that reads a dataset, which may be large.

    It runs in one of few threads of its own, beside all other reading; a tenant leaves some of them to others.
    """
    async with _places.setdefault(tenant_id, asyncio.Semaphore(_OF_A_TENANT)):
        return await asyncio.get_running_loop().run_in_executor(_reader, read, *arguments)


@dataclass(frozen=True)
class RowFindings:
    """The result of checking a dataset's rows; it holds texts only, because rows are large.

    `problems` are pairs of found and expected, empty if at least one row is a task. `message` describes the bad rows in
    the words of the driver's event, so that the run has one such event; it is empty if no row is bad. `tasks` are the
    content hashes of the rows that are tasks, each once and sorted, with their `counts`; `rows` is the number of these
    rows. `held` are the tasks that the dataset itself holds out, if the run evaluates on it.
    """

    problems: tuple[tuple[str, str], ...]
    message: str = ""
    rows: int = 0
    tasks: Hashes = field(default_factory=lambda: np.empty(0, HASH), compare=False, repr=False)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64), compare=False, repr=False)
    held: Hashes = field(default_factory=lambda: np.empty(0, HASH), compare=False, repr=False)


@dataclass(frozen=True)
class CheckedDataset:
    """The findings on the rows of a dataset, and the field of the spec that names it."""

    at: str
    findings: RowFindings

    @property
    def message(self) -> str:
        """A description of the bad rows beside good ones; empty if there are none."""
        return self.findings.message

    def problems(self) -> list[Problem]:
        """Return the reasons why the run cannot take tasks from the dataset; empty if at least one row is a task."""
        return [Problem(f"{self.at}.dataset", value, wanted) for value, wanted in self.findings.problems]


class RowsLost(Exception):
    """The rows of a dataset cannot be read. The message is a `found` text."""


def parts(spec: RunSpec) -> Iterator[Source]:
    """Yield the sources of the spec, and those of each stage with its own task or lengths."""
    yield from sources.of(spec)
    for place, stage in enumerate(spec.stages):
        if stage.task != spec.task or stage.sampling != spec.sampling:
            yield from (one.inside(f"stages[{place}].") for one in sources.of(stages.stage_spec(spec, stage)))


def held_out(spec: RunSpec) -> Iterator[Source]:
    """Yield the sources that are for evaluation alone."""
    yield from (one for one in sources.held_out(spec) if one.held_out_alone)


async def check(
    session: TenantSession, objects: Objects, spec: RunSpec, lacks: Mapping[str, str],
) -> list[CheckedDataset]:
    """Check the rows of every dataset that the spec names and this tenant has.

    `lacks` is what the policy's chat template cannot show (hone.text.abilities). Reading may take long, so it happens
    outside of any transaction. References to datasets are checked elsewhere.
    """
    checked, missing = list[CheckedDataset](), json.dumps(dict(lacks))
    for one in (*parts(spec), *held_out(spec)):
        stored = await files(session, one.spec.task)
        if stored is not None:
            key, text = stored[FILE]["key"], one.spec.task.model_dump_json()
            found_there = await read_apart(session.tenant_id, _findings, objects, key, text, missing)
            checked.append(CheckedDataset(one.at, found_there))
    return checked


async def files(session: TenantSession, source: TaskSource) -> dict[str, Any] | None:
    """Return the files of the dataset that a source names; None if there is none."""
    if source.dataset is None:
        return None
    async with session.transaction() as transaction:
        row = await transaction.one("artifacts.named", kind="dataset", name=source.dataset)
    return None if row is None else row["manifest"]["files"]


def _findings(objects: Objects, key: str, source: str, lacks: str) -> RowFindings:
    try:
        return _read(cast(Hashable, objects), key, source, lacks)  # stores are compared by identity
    except RowsLost as lost:
        log.error("%s cannot be read: %r", key, lost.__cause__)
        return RowFindings(((str(lost), "a dataset that is uploaded again, under another name"),))


@lru_cache(maxsize=64)
def _read(objects: Objects, key: str, source: str, lacks: str) -> RowFindings:
    """Check the rows under a key once; an object never changes. Raises RowsLost, which is not cached."""
    taken = TaskSource.model_validate_json(source)
    missing = json.loads(lacks)
    sieve, dataset = Sieve(taken.kind, taken.params, lambda: missing), str(taken.dataset)
    found, split = Column(HASH), RowSplit()
    for row in rows(objects, key, dataset):
        if (content_hash := sieve.content_hash(row)) is not None:
            found.add(bytes.fromhex(content_hash))
            split.add(content_hash)
    tasks, counts = disk_arrays.distinct(found.array())
    held = Column(HASH)
    for task in disk_arrays.each(tasks):
        if split.holds_out(as_hex(task)):
            held.add(task)
    problems = tuple(_no_task(sieve, dataset, taken.kind)) if sieve.bad == sieve.rows else ()
    return RowFindings(problems, sieve.message(dataset) if sieve.bad else "", len(found), tasks, counts, held.array())


def _no_task(sieve: Sieve, dataset: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield that no row is a task, and the problems of the first rows."""
    yield f"{dataset}, with {sieve.rows} rows and no task of {kind}", "a dataset with at least one such row"
    for row in sieve.first:
        yield f"row {row.number}, where {row.key} is {found(row.error.found)}", row.error.expected


def rows(objects: Objects, key: str, dataset: str) -> Iterator[Row]:
    """Yield the rows under a key. Raises RowsLost."""
    try:
        for line in filter(bytes.strip, lines(objects.read(key))):
            yield json.loads(line)
    except ObjectMissing as missing:
        raise RowsLost(f"{dataset}, without stored rows") from missing
    except ValueError as changed:  # ObjectCorrupt, or a line that is not JSON before the store could notice
        raise RowsLost(f"{dataset}, with stored rows that differ from the uploaded rows") from changed
