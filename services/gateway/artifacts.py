"""Immutable inputs: files go to the object store first, then one row names them. A name is given once."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from psycopg.types.json import Jsonb
from pydantic import AfterValidator, StringConstraints

from hone import ids
from hone.client.resources import Page, Resource
from hone.spec.problems import Problem
from hone.store.database import AsyncTransaction, Row
from hone.store.manifests import file_digest, put_file
from hone.store.objects import Objects
from services.gateway.errors import Conflict, NotFound
from services.gateway.idempotency import Answer, once
from services.gateway.parameters import Shown, page
from services.gateway.tenancy import Session

Kind = Literal["base_model", "dataset"]
_CALLED: dict[Kind, str] = {"base_model": "model", "dataset": "dataset"}
_RESERVED = ("art_", "run_", "ver_")


def _unreserved(name: str) -> str:
    if name.startswith(_RESERVED):
        raise ValueError(f"expected a name that begins with none of {', '.join(_RESERVED)}")
    return name


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$"), AfterValidator(_unreserved)]
"""What an artifact may be called; ids are recognized by their prefixes."""


@dataclass(frozen=True)
class Upload:
    """Checked files of one artifact, on this machine, with what the manifest says besides."""

    kind: Kind
    name: str
    directory: Path
    names: list[str]
    facts: dict[str, Any]
    report: dict[str, Any]


async def register(
    session: Session, objects: Objects, upload: Upload, key: str | None, request_sha: Callable[[str], bytes],
    shown: Callable[[Row], Resource],
) -> Answer:
    """Store an artifact: 201 with the new one, or 200 with the old one when name and content are the same.

    `request_sha` makes the request's fingerprint from the content's hash. Raises Conflict when the name is taken by
    other content.
    """
    content = await asyncio.to_thread(_content_hash, upload)
    async with session.transaction() as transaction:
        taken = await transaction.one("gateway.artifact", kind=upload.kind, name=upload.name)
    artifact_id, manifest = ids.new("art"), dict[str, Any]()
    if taken is None:
        manifest = {"files": await asyncio.to_thread(_put, objects, artifact_id, upload), **upload.facts}

    async def work() -> Answer:
        added = taken is None and await transaction.run(
            "gateway.add_artifact", id=artifact_id, tenant_id=session.tenant_id, kind=upload.kind, name=upload.name,
            hash=content, manifest=Jsonb(manifest), report=Jsonb(upload.report))
        row = await _known(transaction, upload, content)
        if row is None:
            raise Conflict(f"{upload.name} was removed while it was being registered")
        return Answer(201 if added else 200, shown(row).model_dump(mode="json"))

    async with session.transaction() as transaction:
        answer = await once(session, transaction, key, request_sha(content), work)
    if manifest and answer.body["id"] != artifact_id:
        await asyncio.to_thread(objects.delete, [entry["key"] for entry in manifest["files"].values()])
    return answer


async def listed(
    session: Session, kind: Kind, shown: Callable[[Row], Shown], limit: int, after: str | None,
) -> Page[Shown]:
    """Return a page of artifacts of a kind, newest first."""
    async with session.transaction() as transaction:
        rows = await transaction.all("gateway.artifacts", kind=kind, after=after, limit=limit + 1)
    return page([shown(row) for row in rows], limit, "id")


async def found(session: Session, kind: Kind, name: str) -> Row:
    """Return the row of an artifact by its name or id. Raises NotFound."""
    async with session.transaction() as transaction:
        row = await transaction.one("gateway.artifact", kind=kind, name=name)
    if row is None:
        raise NotFound(f"There is no {_CALLED[kind]} {name}.")
    return row


async def _known(transaction: AsyncTransaction, upload: Upload, content: str) -> Row | None:
    row = await transaction.one("gateway.artifact", kind=upload.kind, name=upload.name)
    if row is not None and row["hash"] != content:
        raise Conflict(f"The name {upload.name} is taken by other content.", [Problem(
            "name", f"{upload.name}, which is {row['id']} with other content", "a name that is not taken")])
    return row


def _content_hash(upload: Upload) -> str:
    digests = {name: file_digest(upload.directory / name) for name in upload.names}
    return hashlib.sha256(json.dumps(digests, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _put(objects: Objects, artifact_id: str, upload: Upload) -> dict[str, Any]:
    return {name: put_file(objects, f"artifacts/{artifact_id}/{name}", upload.directory / name)
            for name in sorted(upload.names)}
