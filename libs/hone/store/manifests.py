"""Manifests: the objects of a version, a snapshot or an artifact, each with its digest."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hone.store.objects import Objects

Manifest = dict[str, Any]


class DigestMismatch(ValueError):
    """The digest of an object's bytes is not the one in its manifest."""


def put_files(objects: Objects, prefix: str, files: Mapping[str, bytes | Path]) -> dict[str, dict[str, Any]]:
    """Store each file under `prefix/name`; return its entry {key, sha256, bytes} by name."""
    return {name: put_file(objects, f"{prefix}/{name}", data) for name, data in sorted(files.items())}


def put_file(objects: Objects, key: str, content: bytes | Path) -> dict[str, Any]:
    """Store one file, given as bytes or as a path, and return its entry {key, sha256, bytes}."""
    objects.put(key, content)
    if isinstance(content, Path):
        return {"key": key, "sha256": file_digest(content), "bytes": content.stat().st_size}
    return {"key": key, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def file_digest(path: Path) -> str:
    """Return a file's sha256, without the whole file in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def get_files(objects: Objects, manifest: Manifest) -> dict[str, bytes]:
    """Return every file of a manifest by name. Raises ObjectMissing, DigestMismatch."""
    return {name: get_file(objects, entry) for name, entry in manifest["files"].items()}


def get_file(objects: Objects, entry: Mapping[str, Any]) -> bytes:
    """Return one file's bytes. Raises ObjectMissing, DigestMismatch."""
    data = objects.get(entry["key"])
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise DigestMismatch(f"object {entry['key']}: sha256 differs from its manifest")
    return data
