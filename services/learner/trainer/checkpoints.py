"""The stored files of a model: snapshots and how a learner is restored from them, replays, retired weights."""

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any

import torch
from safetensors.torch import load

from hone import ids
from hone.crashpoints import reach
from hone.models import adapter
from hone.models.adapter import Lora
from hone.models.checkpoint import WEIGHTS
from hone.spec.model import LoraSpec
from hone.store import manifests
from hone.store.database import Database, Row, Transaction
from hone.store.leases import fenced
from hone.store.objects import Objects
from services.learner.trainer.learner import Learner
from services.learner.trainer.lease import ModelLease
from services.learner.trainer.rank_group import RankGroup
from services.learner.trainer.snapshot import Start

log = logging.getLogger(__name__)

REPLAY_TOLERANCE = 1e-5  # largest difference of a weight up to which a replay counts as equal to the stored version


class Checkpoints:
    """The objects of one leased model."""

    def __init__(self, database: Database, objects: Objects, lease: ModelLease) -> None:
        self._database, self._objects, self._lease = database, objects, lease
        self._snapshot = lease.snapshot
        self.covered_seq = lease.snapshot_seq
        self._base: dict[str, Any] | None = None
        self._sides: dict[str, dict[str, Any]] | None = None
        self._unneeded: list[str] = []
        form = lease.config.get("lora")
        self._lora = None if form is None else Lora.of(LoraSpec.model_validate(form))

    @property
    def weights_file(self) -> str:
        """Name of the one file in which a version differs from the others."""
        return WEIGHTS if self._lora is None else adapter.WEIGHTS

    def restore(self, group: RankGroup, token_budget: int, threads: int) -> Learner:
        """Return a learner in the state of the last snapshot, or with the base weights if there is none."""
        config = self._lease.config
        return group.learner(self._start(), config["optimizer"], token_budget, threads, config.get("critic"))

    def _start(self) -> Start:
        if self._snapshot is None:
            files = manifests.get_files(self._objects, self._base_manifest())
            config = self._lease.config
            return Start.first(files, self._lora, config["seed"], critic=config.get("critic") is not None)
        files = manifests.get_files(self._objects, self._snapshot)
        base = None if self._lora is None else manifests.get_files(self._objects, self._base_manifest())
        return Start.again(files, base)

    def side_files(self) -> dict[str, dict[str, Any]]:
        """Return the manifest entries that all versions share: configuration, tokenizer, and an adapter's base."""
        if self._sides is None:
            entries: dict[str, dict[str, Any]] = self._base_manifest()["files"]
            self._sides = _beside_weights(entries) if self._lora is None else {
                **entries, adapter.CONFIG: self._adapter_config(self._lora)}
        return self._sides

    def _adapter_config(self, lora: Lora) -> dict[str, Any]:
        key = f"models/{self._lease.model_id}/adapters/{ids.new('form')}/{adapter.CONFIG}"
        return manifests.put_file(self._objects, key, lora.config(self._lease.config["base"]))

    def retire(self, transaction: Transaction, newest: int) -> list[str]:
        """Mark the weights of versions that nobody needs any more as deleted, and return the keys of their objects.

        A frozen model, which is published and never trained, keeps its only version.
        """
        config = self._lease.config
        if config.get("frozen"):
            return []
        retired = transaction.all("versions.retire", model_id=self._lease.model_id, newest=newest,
                                  keep=config["keep_versions"], checkpoint_every=config["checkpoint_every"])
        return [row["manifest"]["files"][self.weights_file]["key"] for row in retired]

    def after_commit(self, learner: Learner, seq: int, number: int, retired: Sequence[str]) -> None:
        """Delete the objects of retired weights, which makes room, then take a snapshot when one is due."""
        self._delete(retired)
        if not self._lease.config.get("frozen") and number % self._lease.config["snapshot_every"] == 0:
            self._take_snapshot(learner, seq)

    def compare(self, learner: Learner, unit: list[Row]) -> None:
        """Compare a replay with the stored version, if its weights are kept; replace the version if they differ."""
        data = learner.weights()
        with fenced(self._database, self._lease) as transaction:
            transaction.run("operations.count_replays", ids=[operation["id"] for operation in unit])
            stored = transaction.one("versions.at_seq", model_id=self._lease.model_id, seq=unit[-1]["seq"])
        if stored is None or stored["weights_deleted_at"] is not None:
            return
        if stored["manifest"]["weights_sha256"] != hashlib.sha256(data).hexdigest():
            self._settle_difference(stored, learner, data, unit[-1]["seq"])

    def _settle_difference(self, stored: Row, learner: Learner, data: bytes, seq: int) -> None:
        entry = stored["manifest"]["files"][self.weights_file]
        difference = largest_difference(manifests.get_file(self._objects, entry), data)
        log.warning("replay of version %s by %d ranks differs by %.3g from the version that %s made", stored["id"],
                    learner.rank_count, difference, stored["manifest"].get("ranks", "an unknown number"))
        if difference > REPLAY_TOLERANCE:
            self._replace_version(stored, learner, data, seq)

    def _replace_version(self, stored: Row, learner: Learner, data: bytes, seq: int) -> None:
        version_id = ids.new("ver")
        entry = manifests.put_file(
            self._objects, f"models/{self._lease.model_id}/versions/{version_id}/{self.weights_file}", data)
        manifest = {"files": {**self.side_files(), self.weights_file: entry}, "weights_sha256": entry["sha256"],
                    "ranks": learner.rank_count, "probe": learner.probe()}
        with fenced(self._database, self._lease) as transaction:
            transaction.run("versions.abandon", version_id=stored["id"])
            transaction.run("versions.add", id=version_id, tenant_id=self._lease.tenant_id,
                            model_id=self._lease.model_id, seq=seq, number=stored["number"], parent_id=None,
                            manifest=json.dumps(manifest))
            transaction.run("steps.replace_version", version_id=version_id, old_version_id=stored["id"])
            transaction.run("server.notify", channel="versions", payload=self._lease.model_id)

    def _take_snapshot(self, learner: Learner, seq: int) -> None:
        prefix = f"models/{self._lease.model_id}/snapshots/{seq}-{ids.new('snap')}"
        files = {}
        for name, data in sorted(learner.snapshot().items()):
            files[name] = manifests.put_file(self._objects, f"{prefix}/{name}", data)
            reach("checkpoint.mid")
        with fenced(self._database, self._lease) as transaction:
            transaction.run("models.record_snapshot", model_id=self._lease.model_id, epoch=self._lease.epoch, seq=seq,
                            manifest=json.dumps({"files": files}))
        outdated, self._snapshot, self.covered_seq = self._snapshot, {"files": files}, seq
        if outdated is not None:
            self._delete([entry["key"] for entry in outdated["files"].values()])

    def _delete(self, keys: Sequence[str]) -> None:
        """Delete objects that no row names any more, or, while a backup may still copy them, at a later commit."""
        self._unneeded += keys
        if (self._database.one("backups.lets_delete") or {})["free"]:
            self._objects.delete(self._unneeded)
            self._unneeded = []

    def _base_manifest(self) -> dict[str, Any]:
        if self._base is None:
            row = self._database.one("models.base_manifest", model_id=self._lease.model_id)
            if row is None or row["manifest"] is None:
                raise LookupError(f"model {self._lease.model_id} has no base")
            self._base = row["manifest"]
        return self._base


def _beside_weights(entries: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: entry for name, entry in entries.items() if "safetensors" not in name and name != adapter.CONFIG}


def largest_difference(left: bytes, right: bytes) -> float:
    """Return the largest absolute difference between equally named tensors of two safetensors files."""
    ours, theirs = load(left), load(right)
    if ours.keys() != theirs.keys():
        return float("inf")
    return max(float(torch.max(torch.abs(ours[name].float() - theirs[name].float()))) for name in ours)
