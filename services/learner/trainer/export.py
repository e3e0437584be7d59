"""Exports: a version's files for stock engines, loaded by stock transformers and compared before they are ready."""

import json
import logging
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hone import ids
from hone.models import exporting, stock_sampling
from hone.models.probe import Probe
from hone.store import manifests
from hone.store.database import Database, Row
from hone.store.leases import fenced
from hone.store.objects import ObjectMissing, Objects
from hone.store.objects.contract import room_in
from services.learner.trainer.commit import StaleUnit
from services.learner.trainer.lease import ModelLease

log = logging.getLogger(__name__)


def export(database: Database, objects: Objects, lease: ModelLease, operation: Row) -> None:
    """Write the operation's version as a directory that stock engines load, and store how far its log-probs differ.

    They are compared with the probe in the version's manifest, or with our own forward if it has none. If the version
    cannot be exported, the operation fails with the reason, and other operations go on.
    """
    try:
        result = _export(database, objects, lease, operation["payload"]["version_id"])
    except (exporting.ExportRefused, ObjectMissing, manifests.DigestMismatch, LookupError) as problem:
        log.error("export of %s refused: %s", operation["payload"], problem)
        with fenced(database, lease) as transaction:
            transaction.run("operations.fail", id=operation["id"], category="server", reason=str(problem))
        return
    with fenced(database, lease) as transaction:
        transaction.run("operations.expire_exports", model_id=lease.model_id)  # reported as failed: they stay so
        if not transaction.run("operations.finish", ids=[operation["id"]], result=json.dumps(result)):
            raise StaleUnit(f"export {operation['id']} is no longer queued")


def _export(database: Database, objects: Objects, lease: ModelLease, version_id: str) -> dict[str, Any]:
    version = database.one("versions.by_id", model_id=lease.model_id, version_id=version_id)
    if version is None or version["weights_deleted_at"] is not None:
        raise LookupError(f"version {version_id}: its weights are no longer kept")
    stored = manifests.get_files(objects, version["manifest"])
    files, base = exporting.export_files(stored), exporting.base_files(stored)
    noted = Probe.from_json(version["manifest"]["probe"]) if "probe" in version["manifest"] else None
    with room_in(Path(tempfile.gettempdir())), tempfile.TemporaryDirectory() as directory:
        whole = _written(Path(directory, "export"), files)
        agreed = exporting.verify(whole, _written(Path(directory, "base"), base) if base else None, noted)
        prefix = f"models/{lease.model_id}/exports/{ids.new('export')}"
        entries = manifests.put_files(objects, prefix, {path.name: path for path in whole.iterdir()})
    return {"version_id": version_id, "files": entries, **asdict(agreed),
            "sampling_defaults": stock_sampling.defaults(stored)}


def _written(directory: Path, files: dict[str, bytes]) -> Path:
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory
