"""Uploaded files become an artifact: an immutable base model or dataset with a name that is never reused.

The files go to the object store first; then one row names them.
"""

import asyncio
import hashlib
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from fastapi import Request
from psycopg.types.json import Jsonb
from pydantic import AfterValidator, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile

from hone import ids
from hone.client.resources import Page, Resource
from hone.spec.problems import Invalid, Problem, found
from hone.store.database import AsyncTransaction, Row
from hone.store.manifests import file_digest, put_file
from hone.store.objects import Objects
from services.gateway.admission import quotas
from services.gateway.admission.parameters import Shown, page
from services.gateway.middleware.errors import Conflict, NotFound, Refusal
from services.gateway.middleware.idempotency import JsonAnswer, fingerprint, once
from services.gateway.middleware.tenancy import TenantSession

Kind = Literal["base_model", "dataset"]
_CALLED: dict[Kind, str] = {"base_model": "model", "dataset": "dataset"}

_RESERVED = ("art_", "run_", "ver_")
"""Prefixes of ids. A spec may give an id in place of a name, so no name begins like one."""

_CHUNK_BYTES = 2**20
_LONGEST_NAME = 255  # bytes, of Linux's file systems


def _usable(name: str) -> str:
    if name.startswith(_RESERVED):
        raise ValueError(f"expected a name that does not begin with {', '.join(_RESERVED)}")
    if {"", ".", ".."} & set(name.split("/")):
        raise ValueError("expected a name without empty parts, . or .. between slashes")
    return name


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$"), AfterValidator(_usable)]
"""Name of an artifact."""


@dataclass(frozen=True)
class Upload:
    """Checked files of one artifact in a local directory, and its facts for the manifest."""

    kind: Kind
    name: str
    directory: Path
    names: list[str]
    facts: dict[str, Any]
    report: dict[str, Any]


@asynccontextmanager
async def received(files: Iterable[UploadFile]) -> AsyncIterator[Path]:
    """Write each file under the last part of its name into a temporary directory, which the context removes.

    Raises Invalid when two files have the same name, or when a name is not usable.
    """
    with tempfile.TemporaryDirectory(prefix="hone-upload-") as name:
        directory = Path(name)
        for file in files:
            target = directory / _file_name(file)
            if target.exists():
                raise Invalid([Problem("files", f"two files called {target.name}", "different names")])
            await run_in_threadpool(_copy, file, target)
        yield directory


def _file_name(file: UploadFile) -> str:
    name = PurePosixPath((file.filename or "").replace("\\", "/")).name
    try:
        return file_name(name)
    except ValueError:
        raise Invalid([Problem("files", f"a file called {found(file.filename)}", "a file name")]) from None


def file_name(name: str) -> str:
    """Return the name of a file if it is one on every system. Raises ValueError."""
    unusable = not name or name in {".", ".."} or set(name) & set("/\\\0")
    if unusable or not name.isprintable() or len(name.encode(errors="replace")) > _LONGEST_NAME:
        raise ValueError("expected a file name without folders")
    return name


def _copy(file: UploadFile, target: Path) -> None:
    with target.open("wb") as sink:
        while chunk := file.file.read(_CHUNK_BYTES):
            sink.write(chunk)


async def register(
    session: TenantSession, objects: Objects, request: Request, key: str | None, upload: Upload,
    resource: Callable[[Row], Resource],
) -> JsonAnswer:
    """Store an artifact. Answers 201 with the new one, or 200 with the old one of the same name and content.

    `resource` turns the artifact's row into the JSON that clients see. Raises Conflict when the name belongs to other
    content.
    """
    digests = await asyncio.to_thread(_digests, upload)
    size = sum((upload.directory / name).stat().st_size for name in upload.names)
    async with session.transaction() as transaction:
        taken = await transaction.one("artifacts.named", kind=upload.kind, name=upload.name)
        if taken is None:
            await quotas.expect_storage(transaction, session, size)
    artifact_id, manifest = ids.new("art"), dict[str, Any]()
    if taken is None:
        manifest = {"files": await asyncio.to_thread(_put, objects, artifact_id, upload), **upload.facts}
    entry = NewArtifact(artifact_id, upload.kind, upload.name, content_hash(digests), manifest, upload.report)

    async def work() -> JsonAnswer:
        if taken is None:  # others may have stored something meanwhile
            await quotas.expect_storage(transaction, session, size)
        added = taken is None and await add(session, transaction, entry)
        row = await same(transaction, entry)
        session.about(row["id"])
        return JsonAnswer(201 if added else 200, resource(row).model_dump(mode="json"))

    stored = [file["key"] for file in manifest.get("files", {}).values()]
    try:
        async with session.transaction() as transaction:
            answer = await once(session, transaction, key, fingerprint(request, [upload.name, entry.content]), work)
    except Refusal:
        await asyncio.to_thread(objects.delete, stored)
        raise
    if answer.body["id"] != artifact_id:
        await asyncio.to_thread(objects.delete, stored)
    return answer


@dataclass(frozen=True)
class NewArtifact:
    """An artifact whose objects are stored, and whose row is not written yet. `content` is its content_hash."""

    id: str
    kind: Kind
    name: str
    content: str
    manifest: dict[str, Any]
    report: dict[str, Any]


async def add(session: TenantSession, transaction: AsyncTransaction, new: NewArtifact) -> bool:
    """Write the row. Return whether the name was free."""
    return bool(await transaction.run(
        "artifacts.add", id=new.id, tenant_id=session.tenant_id, key_id=session.key_id, kind=new.kind, name=new.name,
        hash=new.content, manifest=Jsonb(new.manifest), report=Jsonb(new.report)))


async def same(transaction: AsyncTransaction, new: NewArtifact) -> Row:
    """Return the artifact of this name. Raises Conflict when it has other content, or is gone."""
    row = await transaction.one("artifacts.named", kind=new.kind, name=new.name)
    if row is None:
        raise Conflict(f"{new.name} was removed while it was being registered.")
    if row["hash"] != new.content:
        raise other_content(new.name, row["id"])
    return row


def other_content(name: str, artifact_id: str) -> Conflict:
    """Return the refusal of a name that belongs to an artifact with other content."""
    return Conflict(f"The name {name} belongs to other content.", [Problem(
        "name", f"{name}, which is {artifact_id} with other content", "a name that is not taken")])


async def listed(
    session: TenantSession, kind: Kind, resource: Callable[[Row], Shown], limit: int, after: str | None,
) -> Page[Shown]:
    """Return a page of the artifacts of a kind, newest first."""
    async with session.transaction() as transaction:
        rows = await transaction.all("artifacts.page", kind=kind, after=after, limit=limit + 1)
    return page([resource(row) for row in rows], limit, "id")


async def row_of(session: TenantSession, kind: Kind, name: str) -> Row:
    """Return the row of the artifact with this name or id. Raises NotFound."""
    async with session.transaction() as transaction:
        row = await transaction.one("artifacts.named", kind=kind, name=name)
    if row is None:
        raise NotFound(f"There is no {_CALLED[kind]} {name}.")
    return row


def content_hash(digests: Mapping[str, str]) -> str:
    """Return the digest of an artifact's content: that of its files' sha256 by name."""
    return hashlib.sha256(json.dumps(dict(digests), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _digests(upload: Upload) -> dict[str, str]:
    return {name: file_digest(upload.directory / name) for name in upload.names}


def _put(objects: Objects, artifact_id: str, upload: Upload) -> dict[str, Any]:
    return {name: put_file(objects, f"artifacts/{artifact_id}/{name}", upload.directory / name)
            for name in sorted(upload.names)}
