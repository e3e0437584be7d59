"""Tokenizers by version: read once, shared by every version that names the same files."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hone.store.database import AsyncDatabase
from hone.store.manifests import get_file
from hone.store.objects import Objects
from hone.trajectory.tokens import FILES, Message, Tokenizer, TokenizerError
from services.rollout.batcher import Batcher
from services.rollout.claims import Answering, Claim
from services.rollout.patience import Unavailable

KEPT = 256
"""Versions whose tokenizer is remembered."""

Wanted = tuple[str, str | None]
Found = tuple[str, dict[str, Any]]


class Unreadable(Exception):
    """A role's tokenizer or model refuses what the role is told, and would again; the message says whose."""


@contextmanager
def reading(role: str) -> Iterator[None]:
    """Raise Unreadable, which names the role, where its tokenizer refuses."""
    try:
        yield
    except TokenizerError as error:
        raise Unreadable(f"{role}'s tokenizer refuses: {error}") from error


@dataclass(frozen=True)
class Speakers:
    """The tokenizers of those who answer a group's calls: the policy's, and those of other models by their role."""

    policy: Tokenizer
    others: Mapping[str, Tokenizer] = field(default_factory=dict)

    def of(self, role: str) -> Tokenizer:
        """Return the tokenizer of whoever answers for a role."""
        return self.others.get(role, self.policy)

    def prompt_ids(self, role: str, messages: Sequence[Message]) -> list[int]:
        """Return what whoever answers for a role is asked. Raises Unreadable."""
        with reading(role):
            return self.of(role).prompt_ids(messages)


class Tokenizers:
    """Finds the tokenizers of the versions that a group samples from."""

    def __init__(self, database: AsyncDatabase, objects: Objects) -> None:
        self._database, self._objects = database, objects
        self._manifests: Batcher[Wanted, Found | None] = Batcher(self._look_up)
        self._by_files: dict[tuple[str, ...], Tokenizer] = {}
        self._by_version: dict[str, Tokenizer] = {}
        self._reading = asyncio.Lock()

    async def of(self, claim: Claim) -> Speakers:
        """Return the tokenizers of whoever answers a group's calls.

        Raises Unavailable when there is no such version, TokenizerError when its files are no tokenizer.
        """
        roles = ["policy", *claim.order.asked]
        policy, *others = await asyncio.gather(*(self._of(claim.answering(role)) for role in roles))
        return Speakers(policy, dict(zip(claim.order.asked, others, strict=True)))

    async def _of(self, answering: Answering) -> Tokenizer:
        """Return the tokenizer of a model's version, or of its newest live one."""
        model_id, version_id = answering.model_id, answering.version_id
        if version_id is not None and version_id in self._by_version:
            return self._by_version[version_id]
        found = await self._manifests.ask((model_id, version_id))
        if found is None:
            raise Unavailable(f"model {model_id} has no version {version_id or 'that is live'}")
        found_id, manifest = found
        tokenizer = await self._shared(manifest)
        if len(self._by_version) >= KEPT:
            self._by_version.clear()
        self._by_version[found_id] = tokenizer
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
        rows = await self._database.all("versions.manifests", model_ids=[model for model, _ in asked],
                                        version_ids=[version for _, version in asked])
        found = {(row["model_id"], row["wanted_id"]): (row["id"], row["manifest"]) for row in rows}
        for place, pair in enumerate(wanted):
            yield place, found.get(pair)
