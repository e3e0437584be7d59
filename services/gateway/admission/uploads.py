"""Uploads in parts: what a client announces, which parts the store has, and what is still missing.

An upload is found again by its content, so a client that was interrupted announces the same files and goes on.
"""

import asyncio
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Literal

from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from hone import ids
from hone.client.resources import Page
from hone.client.upload_resources import Upload, UploadedFile
from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from hone.store.database import AsyncTransaction, Row
from hone.store.objects import MOST_PARTS, Objects, Unfinished
from services.gateway.admission import artifacts, model_files, quotas
from services.gateway.admission.parameters import page
from services.gateway.middleware import permission
from services.gateway.middleware.bodies import PART_BYTES
from services.gateway.middleware.errors import Conflict, NoRoom, NotFound, UploadTooLarge
from services.gateway.middleware.tenancy import TenantSession

KINDS: Mapping[str, artifacts.Kind] = {"model": "base_model", "dataset": "dataset"}
"""The kind of artifact by the word that clients use."""

_CALLED = {kind: word for word, kind in KINDS.items()}
_MOST_FILES = 1000
_MIB = 2**20

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class AnnouncedFile(BaseModel):
    """One file of a new upload."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, AfterValidator(artifacts.file_name)]
    bytes: int = Field(ge=0)
    sha256: Sha256 = Field(description="Digest of the whole file, in small hexadecimal digits.")


class NewUpload(BaseModel):
    """The files that will become a model, in the layout that transformers writes, or the one file of a dataset."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["model", "dataset"]
    name: artifacts.Name
    files: list[AnnouncedFile] = Field(min_length=1, max_length=_MOST_FILES)
    allow_bad_rows: bool = Field(False, description="Of a dataset: store the good rows when some are bad.")

    def content(self) -> str:
        """Return a digest of everything that was announced; the order of the files does not count."""
        files = sorted((file.name, file.bytes, file.sha256) for file in self.files)
        text = json.dumps([self.kind, self.name, files, self.allow_bad_rows])
        return hashlib.sha256(text.encode()).hexdigest()

    def check(self) -> None:
        """Raise Invalid for two files of one name, and for a dataset of several files."""
        names = [file.name for file in self.files]
        twice = sorted({name for name in names if names.count(name) > 1})
        problems = [Problem("files", f"two files called {name}", "different names") for name in twice]
        if self.kind == "dataset" and len(names) != 1:
            problems.append(Problem("files", f"{len(names)} files", "a single file of JSON lines, for a dataset"))
        if problems:
            raise Invalid(problems)


@dataclass(frozen=True)
class PlannedFile:
    """A file with the size of its parts. `key` is None if nothing would read the file."""

    name: str
    bytes: int
    sha256: str
    part_bytes: int
    key: str | None

    @property
    def parts(self) -> int:
        return parts(self.bytes, self.part_bytes)


def parts(size: int, part_bytes: int) -> int:
    """Return the number of parts of a file; an empty file has one, which is empty."""
    return max(1, math.ceil(size / part_bytes))


async def create(
    session: TenantSession, objects: Objects, settings: Settings, wanted: NewUpload,
) -> tuple[Upload, bool]:
    """Open an upload, or find the open one of the same content; return it and whether it is new.

    Raises Invalid, Conflict when the name belongs to other content, UploadTooLarge, NoRoom.
    """
    wanted.check()
    content, kind = wanted.content(), KINDS[wanted.kind]
    async with session.transaction() as transaction:
        going_on = await transaction.one("uploads.open_of", tenant_id=session.tenant_id, content=content)
        taken = await transaction.one("artifacts.named", kind=kind, name=wanted.name)
        refused = await transaction.one(
            "uploads.refused_of", tenant_id=session.tenant_id, kind=kind, name=wanted.name)
        before = await transaction.all("uploads.files", uploads=[refused["id"]]) if refused else []
    if going_on:
        return await one(session, settings, going_on["id"]), False
    if taken and _same(taken, wanted):
        return await _done(session, settings, wanted, taken["id"]), False
    artifact_id = refused["artifact_id"] if refused else ids.new("art")
    files = [_planned(file, wanted, settings, artifact_id) for file in wanted.files]
    await asyncio.to_thread(_expect_room, objects, settings, files, kind)
    opening = _Opening(session, objects, wanted, artifact_id, files, before, settings.tenant_uploads)
    upload_id, new = await opening.open(refused["id"] if refused else None)
    return await one(session, settings, upload_id), new


def _same(taken: Row, wanted: NewUpload) -> bool:
    """Return whether the artifact of this name surely has the announced content. Raises Conflict if it has not.

    False leaves it open: of a dataset, other bytes than the file's are stored.
    """
    if wanted.kind == "dataset":
        return False
    announced = {file.name: file.sha256 for file in wanted.files}
    stored = {name: entry["sha256"] for name, entry in taken["manifest"]["files"].items()}
    if any(announced.get(name) != digest for name, digest in stored.items()):
        raise artifacts.other_content(wanted.name, taken["id"])
    return announced.keys() - stored.keys() <= set(taken["report"].get("ignored", []))


async def _done(session: TenantSession, settings: Settings, wanted: NewUpload, artifact_id: str) -> Upload:
    """Record an upload of what is stored already: it has ended, and asks for no file."""
    upload_id = ids.new("upl")
    async with session.transaction() as transaction:
        await transaction.run("uploads.add", **_row(session, upload_id, wanted, artifact_id))
        await transaction.run("uploads.finish", id=upload_id, artifact_id=artifact_id)
    return await one(session, settings, upload_id)


def _row(session: TenantSession, upload_id: str, wanted: NewUpload, artifact_id: str) -> dict[str, Any]:
    return {"id": upload_id, "tenant_id": session.tenant_id, "kind": KINDS[wanted.kind], "name": wanted.name,
            "content": wanted.content(), "options": Jsonb({"allow_bad_rows": wanted.allow_bad_rows}),
            "artifact_id": artifact_id, "key_id": session.key_id}


def _planned(file: AnnouncedFile, wanted: NewUpload, settings: Settings, artifact_id: str) -> PlannedFile:
    part_bytes = max(settings.part_mb, math.ceil(file.bytes / MOST_PARTS / _MIB)) * _MIB
    if part_bytes > PART_BYTES:
        raise Invalid([Problem(f"files: {file.name}", f"{file.bytes} bytes",
                               f"at most {PART_BYTES * MOST_PARTS} bytes in a file: {MOST_PARTS} parts")])
    read = wanted.kind == "dataset" or model_files.is_read(file.name)
    # Another content of the same name, after a refusal, is another object: keys are written once.
    key = f"artifacts/{artifact_id}/{file.sha256[:16]}/{file.name}" if read else None
    return PlannedFile(file.name, file.bytes, file.sha256, part_bytes, key)


def _expect_room(objects: Objects, settings: Settings, files: list[PlannedFile], kind: artifacts.Kind) -> None:
    """Raise UploadTooLarge or NoRoom before anything is sent. A store that does not say what it holds fails later."""
    needed = sum(file.bytes for file in files if file.key)
    if kind == "dataset" and needed > settings.max_dataset_gb * 2**30:
        raise UploadTooLarge(problems=[Problem(
            "files", f"{needed} bytes", f"at most {settings.max_dataset_gb:g} GiB of a dataset (HONE_MAX_DATASET_GB)")])
    if settings.max_upload_gb is not None and needed > settings.max_upload_gb * 2**30:
        raise UploadTooLarge(problems=[Problem(
            "files", f"{needed} bytes in all", f"at most {settings.max_upload_gb:g} GiB (HONE_MAX_UPLOAD_GB)")])
    free = objects.free_bytes()
    if free is not None and needed > free:
        raise NoRoom(problems=[Problem("files", f"{needed} bytes in all", f"at most the {free} bytes that are left")])


async def _expect_few(transaction: AsyncTransaction, session: TenantSession, most: int) -> None:
    """Raise Conflict if the tenant has `most` uploads. expect_storage keeps its other requests waiting meanwhile."""
    found = await transaction.one("uploads.count", tenant_id=session.tenant_id)
    if found is not None and found["uploads"] >= most:
        raise Conflict("The tenant has too many uploads. Complete some, or DELETE them.", [
            Problem("uploads", f"{most} that are open or refused", f"at most {most} (HONE_TENANT_UPLOADS)")])


class _Opening:
    """The opening of an upload, first in the object store, then in one transaction; what failed leaves nothing."""

    def __init__(
        self, session: TenantSession, objects: Objects, wanted: NewUpload, artifact_id: str, files: list[PlannedFile],
        before: list[Row], most: int,
    ) -> None:
        """A tenant has at most `most` uploads.

        `before` are the files of the refused upload that is opened again: those that stayed the same are kept.
        """
        self._session, self._objects, self._wanted = session, objects, wanted
        self._artifact_id, self._most = artifact_id, most
        announced = {(file.name, file.bytes, file.sha256) for file in files}
        kept = {row["name"] for row in before if (row["name"], row["bytes"], row["sha256"]) in announced}
        self._added = [file for file in files if file.name not in kept]
        self._removed = [row for row in before if row["name"] not in kept]

    async def open(self, refused: str | None) -> tuple[str, bool]:
        """Return the id of the upload, and whether it is new."""
        begun = await asyncio.to_thread(self._begin)
        upload_id = refused or ids.new("upl")
        self._session.about(upload_id)
        try:
            async with self._session.transaction() as transaction:
                added = sum(file.bytes for file in self._added if file.key)
                gone = sum(row["bytes"] for row in self._removed if row["key"])
                await quotas.expect_storage(transaction, self._session, added - gone)
                if refused is None:
                    await _expect_few(transaction, self._session, self._most)
                opened = await self._write(transaction, upload_id, refused is not None, begun)
        except BaseException:
            await asyncio.to_thread(self._abandon, begun)
            raise
        if opened:
            await asyncio.to_thread(discard, self._objects, self._removed)
            return upload_id, refused is None
        await asyncio.to_thread(self._abandon, begun)
        return await self._other(), False

    def _begin(self) -> dict[str, Unfinished]:
        """Begin the objects that need several parts."""
        begun: dict[str, Unfinished] = {}
        for file in self._added:
            if file.key and file.parts > 1:
                begun[file.name] = self._objects.begin(file.key, file.part_bytes, file.sha256)
        return begun

    def _abandon(self, begun: Mapping[str, Unfinished]) -> None:
        for unfinished in begun.values():
            self._objects.abandon(unfinished)

    async def _write(
        self, transaction: AsyncTransaction, upload_id: str, again: bool, begun: Mapping[str, Unfinished],
    ) -> bool:
        row = _row(self._session, upload_id, self._wanted, self._artifact_id)
        try:
            if not await transaction.run("uploads.reopen" if again else "uploads.add", **row):
                return False
        except UniqueViolation:  # another request has opened the same content beside the refused upload
            raise Conflict("The same upload was opened at the same time. Announce it again.") from None
        for gone in self._removed:
            await transaction.run("uploads.remove_file", upload_id=upload_id, name=gone["name"])
        for file in self._added:
            await transaction.run(
                "uploads.add_file", upload_id=upload_id, tenant_id=self._session.tenant_id, name=file.name,
                bytes=file.bytes, sha256=file.sha256, key=file.key, part_bytes=file.part_bytes,
                unfinished=begun[file.name].id if file.name in begun else None)
        return True

    async def _other(self) -> str:
        """Return the open upload that another request was faster to make."""
        async with self._session.transaction() as transaction:
            row = await transaction.one(
                "uploads.open_of", tenant_id=self._session.tenant_id, content=self._wanted.content())
        if row is None:
            raise Conflict("The same upload was opened and ended at the same time. Announce it again.")
        return str(row["id"])


def discard(objects: Objects, files: list[Row]) -> None:
    """Delete the objects of these files, and the parts of those that are not whole."""
    for file in files:
        if file["unfinished"]:
            objects.abandon(Unfinished(file["key"], file["unfinished"], file["part_bytes"]))
    objects.delete([file["key"] for file in files if file["key"]])


async def one(session: TenantSession, settings: Settings, upload_id: str) -> Upload:
    """Return an upload with what it has received. Raises NotFound."""
    async with session.transaction() as transaction:
        row = await transaction.one("uploads.one", id=upload_id)
        files = await transaction.all("uploads.files", uploads=[upload_id])
    if row is None:
        raise unknown(upload_id)
    return _shown(row, files, settings)


async def listed(
    session: TenantSession, settings: Settings, state: str | None, limit: int, after: str | None,
) -> Page[Upload]:
    """Return a page of uploads, newest first."""
    async with session.transaction() as transaction:
        rows = await transaction.all("uploads.page", state=state, after=after, limit=limit + 1)
        files = await transaction.all("uploads.files", uploads=[row["id"] for row in rows])
    return page([_shown(row, [file for file in files if file["upload_id"] == row["id"]], settings) for row in rows],
                limit, "id")


async def abort(session: TenantSession, objects: Objects, settings: Settings, upload_id: str) -> Upload:
    """End an upload and delete what it has sent.

    Raises NotFound, Conflict if it has become an artifact, and Forbidden for what another key announced, unless this
    key is an admin's.
    """
    async with session.transaction() as transaction:
        row = await transaction.one("uploads.one", id=upload_id)
        if row is None:
            raise unknown(upload_id)
        if row["state"] == "done":
            raise Conflict(f"{upload_id} has become {row['artifact_id']}.")
        if row["key_id"] != session.key_id:
            permission.check(session, "admin")
        await transaction.run("uploads.abort", id=upload_id)
        files = await transaction.all("uploads.files", uploads=[upload_id])
    await asyncio.to_thread(discard, objects, files)
    return await one(session, settings, upload_id)


def unknown(upload_id: str) -> NotFound:
    """Return the refusal of an id that this tenant has no upload for."""
    return NotFound(f"There is no upload {upload_id}.")


def _shown(row: Row, files: list[Row], settings: Settings) -> Upload:
    open_until = row["touched_at"] + timedelta(seconds=settings.orphan_grace_s)
    return Upload(
        id=row["id"], kind=_CALLED[row["kind"]], name=row["name"], state=row["state"], reason=row["reason"],
        artifact_id=row["artifact_id"] if row["state"] == "done" else None,
        files=[_file(file) for file in files], created_at=row["created_at"],
        expires_at=None if row["ended_at"] else open_until)


def _file(row: Row) -> UploadedFile:
    return UploadedFile(
        name=row["name"], bytes=row["bytes"], sha256=row["sha256"], part_bytes=row["part_bytes"],
        parts=parts(row["bytes"], row["part_bytes"]) if row["key"] else 0, received=row["received"],
        verified=row["verified"])
