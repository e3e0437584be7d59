"""Versions of models: their rows, and their files, read and checked."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hone.crashpoints import reach
from hone.models import adapter, probe
from hone.models.checkpoint import WEIGHTS, Checkpoint
from hone.models.checkpoint_header import BadCheckpoint
from hone.models.config_fields import Unsupported
from hone.models.policy import Policy
from hone.models.probe import Probe
from hone.store import manifests
from hone.store.database import AsyncDatabase, Row
from hone.store.objects import ObjectMissing, Objects
from hone.text.files import FILES, TokenizerError
from hone.text.kept import KeptTexts
from hone.text.model_text import ModelText
from services.inference.engines import Version
from services.inference.takeover import NotFinite, ProbeRefused

UNUSABLE = (Unsupported, BadCheckpoint, NotFinite, TokenizerError, ProbeRefused)
"""Errors of the version itself: another try cannot help."""
REFUSED = (ValueError, ObjectMissing)
"""All errors for which a version is refused. If they are not UNUSABLE, its objects are wrong and may be repaired."""
_KEPT_FILES = 64
_KEPT_BASES = 2
_OWN = (adapter.WEIGHTS, adapter.CONFIG)
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class VersionRow:
    """The row of a version."""

    model_id: str
    id: str
    number: int
    live: bool
    deleted: bool  # retention removed its weights
    newest: bool  # of the live versions of its model
    files: Mapping[str, Mapping[str, Any]]
    probe: Probe | None = None  # with the log-probs that its trainer computed

    def __str__(self) -> str:
        return f"{self.id} (number {self.number})"


class Versions:
    """Reads versions. Keeps files other than weights by their digest, since most versions share them."""

    def __init__(self, database: AsyncDatabase, objects: Objects) -> None:
        self._database, self._objects = database, objects
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._bases: OrderedDict[str, Checkpoint] = OrderedDict()
        self._texts = KeptTexts(_KEPT_FILES, math.inf)

    async def rows(self, model_id: str, version_ids: Collection[str] = ()) -> dict[str, VersionRow]:
        """Return the newest live version of a model, and the versions with these ids, by id.

        Raises psycopg.OperationalError.
        """
        rows = await self._database.all("versions.for_engine", model_id=model_id, version_ids=list(version_ids))
        return {row["id"]: _version_row(model_id, row) for row in rows}

    async def load(self, row: VersionRow) -> Version:
        """Read a version's files and check their digests.

        For a version without a probe, such as an uploaded base, the trainer's forward computes one here. Raises one of
        REFUSED with the reason, or StoreAway when the object store does not answer.
        """
        return await asyncio.to_thread(self._load, row)

    def _load(self, row: VersionRow) -> Version:
        version = self._adapted(row) if adapter.WEIGHTS in row.files else self._plain(row)
        rates = version.checkpoint.architecture.rates  # such a model has no log-probs to compare
        return version if version.probe or rates else replace(version, probe=_computed(version))

    def _plain(self, row: VersionRow) -> Version:
        checkpoint = self._whole(row.files)
        return Version(row.id, row.model_id, checkpoint, None, "", self._tokenizer(checkpoint.files), row.probe)

    def _adapted(self, row: VersionRow) -> Version:
        """Read an adapter and its base. Bases are kept, since every version of an adapter needs one."""
        entries = {name: entry for name, entry in row.files.items() if name not in _OWN}
        key = "/".join(entry["sha256"] for _, entry in sorted(entries.items()))
        if key not in self._bases:
            self._bases[key] = self._whole(entries)
        _trim(self._bases, key, _KEPT_BASES)
        base, own = self._bases[key], {name: manifests.get_file(self._objects, row.files[name]) for name in _OWN}
        return Version(row.id, row.model_id, base, own, key, self._tokenizer(base.files), row.probe)

    def _whole(self, entries: Mapping[str, Mapping[str, Any]]) -> Checkpoint:
        files = {name: self._file(name, entry) for name, entry in sorted(entries.items())}
        reach("weights.mid-load")
        return Checkpoint.from_files(files)

    def _file(self, name: str, entry: Mapping[str, Any]) -> bytes:
        if name == WEIGHTS:
            return manifests.get_file(self._objects, entry)
        digest = entry["sha256"]
        if digest not in self._files:
            self._files[digest] = manifests.get_file(self._objects, entry)
        _trim(self._files, digest)
        return self._files[digest]

    def _tokenizer(self, files: Mapping[str, bytes]) -> ModelText:
        named = {name: files[name] for name in FILES if name in files}
        return self._texts.of(tuple(named.items()), lambda: named)


def _trim(kept: OrderedDict[K, V], used: K, most: int = _KEPT_FILES) -> None:
    kept.move_to_end(used)
    while len(kept) > most:
        kept.popitem(last=False)


def _version_row(model_id: str, row: Row) -> VersionRow:
    return VersionRow(model_id, row["id"], row["number"], row["state"] == "live", row["deleted"], bool(row["newest"]),
                      row["manifest"]["files"], _probe(row["manifest"]))


def _probe(manifest: Mapping[str, Any]) -> Probe | None:
    return Probe.from_json(manifest["probe"]) if "probe" in manifest else None


def _computed(version: Version) -> Probe:
    checkpoint = version.merged()
    return probe.expected(Policy(checkpoint.architecture, checkpoint.tensors))
