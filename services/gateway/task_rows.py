"""Rows of the datasets that a spec takes tasks from, read where the run is made: which of them are tasks there.

They are judged by the rule by which the run's driver leaves rows out.
"""

import asyncio
import json
import logging
from collections.abc import Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from hone.environments.contract import Row
from hone.environments.rows import Sieve
from hone.spec import stages
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, TaskSource
from hone.store.objects import ObjectMissing, Objects
from services.gateway.datasets import ROWS
from services.gateway.tenancy import Session

log = logging.getLogger(__name__)

_reader = ThreadPoolExecutor(1, "task-rows")  # datasets are large: one at a time, beside all other reading


@dataclass(frozen=True)
class Verdict:
    """What came of a dataset's rows, in words alone: rows are large.

    `problems` are pairs of found and expected, none as long as any row is a task; `message` is what the driver's event
    says of the bad rows, so that the run has but one, and empty without any.
    """

    problems: tuple[tuple[str, str], ...]
    message: str = ""


@dataclass(frozen=True)
class Sifted:
    """A dataset at its place in a spec, and what came of its rows."""

    at: str
    verdict: Verdict

    @property
    def message(self) -> str:
        """What is said of bad rows beside good ones; empty without any."""
        return self.verdict.message

    def problems(self) -> list[Problem]:
        """Say why the run cannot take its tasks from here; nothing as long as any row is one."""
        return [Problem(f"{self.at}.dataset", what, wanted) for what, wanted in self.verdict.problems]


class _Lost(Exception):
    """A dataset's rows cannot be read; said as what was found."""


def trained(spec: RunSpec) -> Iterator[tuple[str, RunSpec]]:
    """Yield what the run trains on, and each of its stages where that has tasks or lengths of its own."""
    yield "", spec
    for place, stage in enumerate(spec.stages):
        if stage.task != spec.task or stage.sampling != spec.sampling:
            yield f"stages[{place}].", stages.of(spec, stage)


async def sift(session: Session, objects: Objects, spec: RunSpec) -> list[Sifted]:
    """Read every dataset that the spec names and this tenant has, outside of any transaction: it may take long."""
    loop, sifted = asyncio.get_running_loop(), list[Sifted]()
    for at, source in _sources(spec):
        files = await _files(session, source)
        if files is not None:
            key, said = files[ROWS]["key"], source.model_dump_json()
            sifted.append(Sifted(at, await loop.run_in_executor(_reader, _judged, objects, key, said)))
    return sifted


def _sources(spec: RunSpec) -> Iterator[tuple[str, TaskSource]]:
    for at, held in trained(spec):
        yield f"{at}task", held.task
    if spec.eval is not None and spec.eval.source is not None:
        yield "eval.source", spec.eval.source


async def _files(session: Session, source: TaskSource) -> dict[str, Any] | None:
    if source.dataset is None:
        return None
    async with session.transaction() as transaction:
        row = await transaction.one("gateway.artifact", kind="dataset", name=source.dataset)
    return None if row is None else row["manifest"]["files"]


def _judged(objects: Objects, key: str, source: str) -> Verdict:
    try:
        return _read(cast(Hashable, objects), key, source)  # a store is itself alone
    except _Lost as lost:
        log.error("%s cannot be read: %r", key, lost.__cause__)
        return Verdict(((str(lost), "a dataset that is uploaded again, under another name"),))


@lru_cache(maxsize=64)
def _read(objects: Objects, key: str, source: str) -> Verdict:
    """Judge the rows under a key once, as nothing there ever changes. Raises _Lost, and that is not kept."""
    taken = TaskSource.model_validate_json(source)
    sieve, dataset = Sieve(taken.kind, taken.params), str(taken.dataset)
    for row in _rows(objects, key, dataset):
        sieve.passes(row)
    problems = tuple(_refused(sieve, dataset, taken.kind)) if sieve.bad == sieve.rows else ()
    return Verdict(problems, sieve.told(dataset) if sieve.bad else "")


def _refused(sieve: Sieve, dataset: str, kind: str) -> Iterator[tuple[str, str]]:
    """Say that no row is a task, and of the first ones why."""
    yield f"{dataset}, where none of {sieve.rows} rows is a task of {kind}", "a dataset of which at least one is"
    for row in sieve.first:
        yield f"row {row.number}, where {row.key} is {found(row.error.found)}", row.error.expected


def _rows(objects: Objects, key: str, dataset: str) -> Iterator[Row]:
    try:
        for line in filter(bytes.strip, _lines(objects.read(key))):
            yield json.loads(line)
    except ObjectMissing as missing:
        raise _Lost(f"{dataset}, whose rows are not stored any more") from missing
    except ValueError as changed:  # ObjectCorrupt; or no JSON, before the store could notice
        raise _Lost(f"{dataset}, whose stored rows are not those that were uploaded") from changed


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file that is not held whole."""
    begun = list[bytes]()
    for piece in pieces:
        first, *others = piece.split(b"\n")
        begun.append(first)
        for line in others:
            yield b"".join(begun)
            begun = [line]
    yield b"".join(begun)
