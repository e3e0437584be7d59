"""The labelled sets of checks: those that come with Hone, and datasets of a tenant."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hone.environments.rows import lines
from hone.graders.labelled_pairs import DATASET, MOST_PAIRS, Pair, hash_of, of_rows
from hone.graders.labelled_sets import SETS, problem
from hone.rpc import outage
from hone.spec.problems import Invalid, Problem, found
from hone.store.database import AsyncDatabase
from hone.store.objects import ObjectMissing, Objects

_FILE = "rows.jsonl"
_MOST_BYTES = 2**26


@dataclass(frozen=True)
class LabelledSet:
    """The pairs of a set, and the hash of its content."""

    pairs: Sequence[Pair]
    hash: str


class LabelledSets:
    """Reads sets by their names."""

    def __init__(self, database: AsyncDatabase, objects: Objects) -> None:
        self._database, self._objects = database, objects

    async def read(self, tenant_id: str, name: str) -> LabelledSet:
        """Return a set. Raises Invalid where there is none or its rows are no pairs, NotReady and StoreAway."""
        if name in SETS:
            return await asyncio.to_thread(_built_in, name)
        if wrong := problem(name, "set"):
            raise Invalid([wrong])
        named = name.removeprefix(DATASET)
        with outage.reported():
            row = await self._database.one("artifacts.dataset", tenant_id=tenant_id, name=named)
        if row is None:
            raise Invalid([Problem("set", found(name), "an uploaded dataset (`hone data list`)")])
        return await asyncio.to_thread(self._of_dataset, row["manifest"])

    def _of_dataset(self, manifest: Mapping[str, Any]) -> LabelledSet:
        entry = manifest["files"][_FILE]
        if manifest["rows"] > MOST_PAIRS or entry["bytes"] > _MOST_BYTES:
            raise Invalid([Problem("set", f"{manifest['rows']} rows of {entry['bytes']} bytes",
                                   f"at most {MOST_PAIRS} rows and {_MOST_BYTES} bytes")])
        try:
            content = b"".join(self._objects.read(entry["key"]))
        except ObjectMissing:
            raise Invalid([Problem("set", "a dataset whose rows were removed", "a stored dataset")]) from None
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise Invalid([Problem("set", "rows that differ from their manifest", "the rows that were uploaded")])
        return _made(of_rows(json.loads(line) for line in lines([content]) if line.strip()))


@lru_cache(maxsize=8)
def _built_in(name: str) -> LabelledSet:
    return _made(SETS[name]())


def _made(pairs: Sequence[Pair]) -> LabelledSet:
    return LabelledSet(pairs, hash_of(pairs))
