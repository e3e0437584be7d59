"""The tokenizers of the models that answer a group's calls. Versions with the same files share one tokenizer."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hone.store.database import AsyncDatabase
from hone.store.manifests import get_file
from hone.store.objects import Objects
from hone.text.conversation import Message, Tools
from hone.text.rules import TextRules
from hone.text.tokenizer import FILES, Tokenizer, TokenizerError
from services.rollout.batcher import Batcher
from services.rollout.claims import AnsweringModel, Claim
from services.rollout.retry import Unavailable

KEPT = 256
"""How many versions' tokenizers are kept in memory."""

VersionKey = tuple[str, str | None]
"""Id of a model and of its version; without a version its newest live one."""
Manifest = tuple[str, dict[str, Any]]
"""Id of a version, and its manifest."""


class Unreadable(Exception):
    """A role's tokenizer or model cannot read the role's prompt, and never will. The message names the role."""


@contextmanager
def reading(role: str) -> Iterator[None]:
    """Raise Unreadable, with the role's name, instead of TokenizerError."""
    try:
        yield
    except TokenizerError as error:
        raise Unreadable(f"{role}'s tokenizer refuses: {error}") from error


@dataclass(frozen=True)
class RoleTokenizers:
    """The tokenizers of a group's roles: the policy's, and those of other models by their role."""

    policy: Tokenizer
    others: Mapping[str, Tokenizer] = field(default_factory=dict)

    def of(self, role: str) -> Tokenizer:
        """Return the tokenizer of the model that answers for a role."""
        return self.others.get(role, self.policy)

    def prompt_ids(self, role: str, messages: Sequence[Message], tools: Tools = ()) -> list[int]:
        """Return the ids of a role's prompt. Raises Unreadable."""
        with reading(role):
            return self.of(role).prompt_ids(messages, tools)


class Tokenizers:
    """Reads tokenizers from the object store and keeps them."""

    def __init__(self, database: AsyncDatabase, objects: Objects) -> None:
        self._database, self._objects = database, objects
        self._manifests: Batcher[VersionKey, Manifest | None] = Batcher(self._look_up)
        self._by_files: dict[tuple[str, ...], Tokenizer] = {}
        self._by_version: dict[tuple[str, str], Tokenizer] = {}  # by the version's id and the rules' JSON
        self._reading = asyncio.Lock()

    async def of(self, claim: Claim) -> RoleTokenizers:
        """Return the tokenizers of a group's roles.

        Raises Unavailable when a version does not exist yet, TokenizerError when its files are no tokenizer.
        """
        asked = list(claim.order.asked)
        rules = claim.order.chat
        policy, *others = await asyncio.gather(
            self._of(claim.answering("policy"), rules),
            *(self._of(claim.answering(role), rules.for_others()) for role in asked))
        return RoleTokenizers(policy, dict(zip(asked, others, strict=True)))

    async def _of(self, model: AnsweringModel, rules: TextRules) -> Tokenizer:
        form = rules.model_dump_json()
        if model.version_id is not None and (model.version_id, form) in self._by_version:
            return self._by_version[model.version_id, form]
        found = await self._manifests.ask((model.model_id, model.version_id))
        if found is None:
            raise Unavailable(f"model {model.model_id} has no version {model.version_id or 'that is live'}")
        version_id, manifest = found
        tokenizer = await self._shared(manifest, rules)
        if len(self._by_version) >= KEPT:
            self._by_version.clear()
        self._by_version[version_id, form] = tokenizer
        return tokenizer

    async def _shared(self, manifest: dict[str, Any], rules: TextRules) -> Tokenizer:
        entries = {name: manifest["files"][name] for name in FILES if name in manifest["files"]}
        key = (rules.model_dump_json(), *(entry["sha256"] for entry in entries.values()))
        async with self._reading:
            if key not in self._by_files:
                self._by_files[key] = await asyncio.to_thread(self._read, entries, rules)
        return self._by_files[key]

    def _read(self, entries: dict[str, Any], rules: TextRules) -> Tokenizer:
        return Tokenizer({name: get_file(self._objects, entry) for name, entry in entries.items()}, rules)

    async def _look_up(self, keys: list[VersionKey]) -> AsyncIterator[tuple[int, Manifest | None]]:
        unique = sorted(set(keys), key=str)
        rows = await self._database.all("versions.manifests", model_ids=[model for model, _ in unique],
                                        version_ids=[version for _, version in unique])
        found = {(row["model_id"], row["wanted_id"]): (row["id"], row["manifest"]) for row in rows}
        for place, key in enumerate(keys):
            yield place, found.get(key)
