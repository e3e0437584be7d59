"""Tokenizers by version: read once, shared by every version that names the same files."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from hone.store.database import AsyncDatabase
from hone.store.manifests import get_file
from hone.store.objects import Objects
from hone.trajectory.tokens import FILES, Tokenizer
from services.rollout.batcher import Batcher
from services.rollout.claims import Claim
from services.rollout.patience import Unavailable

KEPT = 256
"""Versions whose tokenizer is remembered."""

Wanted = tuple[str, str | None]
Found = tuple[str, dict[str, Any]]


class Tokenizers:
    """Finds the tokenizer of the version that a group samples from."""

    def __init__(self, database: AsyncDatabase, objects: Objects) -> None:
        self._database, self._objects = database, objects
        self._manifests: Batcher[Wanted, Found | None] = Batcher(self._look_up)
        self._by_files: dict[tuple[str, ...], Tokenizer] = {}
        self._by_version: dict[str, Tokenizer] = {}
        self._reading = asyncio.Lock()

    async def of(self, claim: Claim) -> Tokenizer:
        """Return the tokenizer of the group's version, or of its model's newest live one.

        Raises Unavailable when there is no such version, TokenizerError when its files are no tokenizer.
        """
        if claim.version_id is not None and claim.version_id in self._by_version:
            return self._by_version[claim.version_id]
        found = await self._manifests.ask((claim.model_id, claim.version_id))
        if found is None:
            raise Unavailable(f"model {claim.model_id} has no version {claim.version_id or 'that is live'}")
        version_id, manifest = found
        tokenizer = await self._shared(manifest)
        if len(self._by_version) >= KEPT:
            self._by_version.clear()
        self._by_version[version_id] = tokenizer
        return tokenizer

    async def _shared(self, manifest: dict[str, Any]) -> Tokenizer:
        entries = {name: manifest["files"][name] for name in FILES if name in manifest["files"]}
        key = tuple(entry["sha256"] for entry in entries.values())
        async with self._reading:
            if key not in self._by_files:
                self._by_files[key] = await asyncio.to_thread(self._read, entries)
        return self._by_files[key]

    def _read(self, entries: dict[str, Any]) -> Tokenizer:
        return Tokenizer({name: get_file(self._objects, entry) for name, entry in entries.items()})

    async def _look_up(self, wanted: list[Wanted]) -> AsyncIterator[tuple[int, Found | None]]:
        asked = sorted(set(wanted), key=str)
        rows = await self._database.all("rollout.manifests", model_ids=[model for model, _ in asked],
                                        version_ids=[version for _, version in asked])
        found = {(row["model_id"], row["wanted_id"]): (row["id"], row["manifest"]) for row in rows}
        for place, pair in enumerate(wanted):
            yield place, found.get(pair)
