"""Datasets whose rows are at hand."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, cast

from hone.resolution import resolve
from hone.spec.run import RunSpec
from hone.store.objects import ObjectCorrupt, ObjectMissing, Objects
from services.gateway.admission.task_rows import CheckedDataset, check
from services.gateway.middleware.tenancy import TenantSession

Row = dict[str, Any]


class Shelf:
    """A database and an object store with a tenant's datasets. It counts reads and answers a few bytes at a time."""

    def __init__(self, **datasets: list[Row]) -> None:
        self.tenant_id = f"ten_{id(self)}"
        self._datasets, self.reads, self.held = datasets, list[str](), False
        self.lost, self.changed = set[str](), b""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["Shelf"]:
        self.held = True
        yield self
        self.held = False

    async def one(self, statement: str, kind: str, name: str) -> Row | None:
        assert (statement, kind) == ("artifacts.named", "dataset")
        return {"manifest": {"files": {"rows.jsonl": {"key": name}}}} if name in self._datasets else None

    def read(self, key: str) -> Iterator[bytes]:
        assert not self.held, "the server ends a transaction that is idle for long"
        self.reads.append(key)
        if key in self.lost:
            raise ObjectMissing(key)
        data = self.changed or b"".join(json.dumps(row).encode() + b"\n" for row in self._datasets[key])
        yield from (data[start:start + 7] for start in range(0, len(data), 7))
        if self.changed:
            raise ObjectCorrupt(key)


def resolved(**changes: Any) -> RunSpec:
    return resolve({"name": "x", "model": {"base": "b"}, "steps": 4, "eval": None,
                    "task": {"environment": "sqlite", "dataset": "rows"}, **changes})


def checked(shelf: Shelf, **changes: Any) -> list[CheckedDataset]:
    return asyncio.run(check(cast(TenantSession, shelf), cast(Objects, shelf), resolved(**changes), {}))
