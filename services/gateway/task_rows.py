"""Rows of the datasets that a spec takes tasks from, read where the run is made: which of them are tasks there.

They are judged by the rule by which the run's driver leaves rows out.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from hone.environments.rows import Sieve
from hone.spec import stages
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, TaskSource
from hone.store.objects import Objects
from services.gateway.datasets import ROWS
from services.gateway.tenancy import Session

_reader = ThreadPoolExecutor(1, "task-rows")  # datasets are large: one at a time, beside all other reading


@dataclass(frozen=True)
class Sifted:
    """A dataset at its place in a spec, and what came of its rows."""

    at: str
    source: TaskSource
    sieve: Sieve

    @property
    def message(self) -> str:
        """What the driver's event says of the bad rows, so that the run has but one; empty without any."""
        return self.sieve.told(str(self.source.dataset)) if self.sieve.bad else ""

    def problems(self) -> list[Problem]:
        """Say that no row is a task and of the first ones why; nothing as long as any is."""
        if self.sieve.bad < self.sieve.rows:
            return []
        none = f"{self.source.dataset}, where none of {self.sieve.rows} rows is a task of {self.source.kind}"
        return [Problem(f"{self.at}.dataset", none, "a dataset of which at least one is"), *(
            Problem(f"{self.at}.dataset", f"row {row.number}, where {row.key} is {found(row.error.found)}",
                    row.error.expected) for row in self.sieve.first)]


def trained(spec: RunSpec) -> Iterator[tuple[str, RunSpec]]:
    """Yield what the run trains on, and each of its stages where that has tasks or lengths of its own."""
    yield "", spec
    for place, stage in enumerate(spec.stages):
        if stage.task != spec.task or stage.sampling != spec.sampling:
            yield f"stages[{place}].", stages.of(spec, stage)


async def sift(session: Session, objects: Objects, spec: RunSpec) -> list[Sifted]:
    """Read every dataset that the spec names and this tenant has, outside of any transaction: it may take long."""
    loop, sieves, sifted = asyncio.get_running_loop(), dict[str, Sieve](), list[Sifted]()
    for at, source in _sources(spec):
        key = source.model_dump_json()
        if key not in sieves:
            files = await _files(session, source)
            if files is None:
                continue
            sieves[key] = await loop.run_in_executor(_reader, _sieve, objects, files[ROWS]["key"], source)
        sifted.append(Sifted(at, source, sieves[key]))
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


def _sieve(objects: Objects, key: str, source: TaskSource) -> Sieve:
    sieve = Sieve(source.kind, source.params)
    for line in filter(bytes.strip, _lines(objects.read(key))):
        sieve.passes(json.loads(line))
    return sieve


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
