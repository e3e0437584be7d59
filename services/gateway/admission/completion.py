"""The end of an upload: its objects are finished, read once against their digests, checked, and named by an artifact.

Reading a large model takes longer than a request may. So the work goes on between requests, and each request waits for
it a while. A gateway that was started again begins it anew, with the files that are not verified yet.
"""

import asyncio
import hashlib
import logging
import tempfile
from pathlib import Path
from typing import Any

from hone.spec.problems import Invalid, Problem
from hone.store.database import Row
from hone.store.manifests import put_file
from hone.store.objects import Objects, Unfinished
from services.gateway.admission import artifacts, dataset_rows, model_files, task_rows, uploads
from services.gateway.admission.artifacts import NewArtifact
from services.gateway.admission.dataset_rows import RowBounds, RowChecks
from services.gateway.admission.stored_folder import StoredFile, StoredFolder
from services.gateway.middleware.errors import Conflict, Refusal
from services.gateway.middleware.tenancy import TenantSession

WAIT_S = 10.0
"""Seconds that a request waits for the end before it is answered that the work goes on."""

_READ_BYTES = 8 * 2**20
_LISTED = 20
"""Missing parts that a refusal names."""

_log = logging.getLogger("hone.gateway")


class Completions:
    """The uploads that this gateway is completing."""

    def __init__(self, objects: Objects, bounds: RowBounds) -> None:
        self._objects, self._bounds = objects, bounds
        self._running: dict[str, asyncio.Task[None]] = {}

    async def complete(self, session: TenantSession, upload_id: str) -> bool:
        """Turn an upload into its artifact. Return False if that goes on; ask again then.

        Raises NotFound, Conflict while parts are missing, and Invalid or Unusable for content that is refused.
        """
        task = self._running.get(upload_id)
        if task is None:
            upload = await _open_upload(session, upload_id)
            if upload is None:
                return True
            task = self._running.setdefault(
                upload_id, asyncio.create_task(Completion(session, self._objects, self._bounds, upload).run()))
            task.add_done_callback(lambda _: self._running.pop(upload_id, None))
        elif not await _is_known(session, upload_id):
            raise uploads.unknown(upload_id)
        done, _ = await asyncio.wait([task], timeout=WAIT_S)
        if done:
            task.result()
        return bool(done)


async def _is_known(session: TenantSession, upload_id: str) -> bool:
    async with session.transaction() as transaction:
        return await transaction.one("uploads.one", id=upload_id) is not None


async def _open_upload(session: TenantSession, upload_id: str) -> Row | None:
    """Return the row of an open upload, None if it is done already. Raises NotFound, Conflict."""
    async with session.transaction() as transaction:
        row = await transaction.one("uploads.one", id=upload_id)
    if row is None:
        raise uploads.unknown(upload_id)
    if row["state"] not in ("open", "done"):
        reason = f": {row['reason']}" if row["reason"] else "."
        raise Conflict(f"The upload {upload_id} is {row['state']}{reason}")
    return row if row["state"] == "open" else None


class Completion:
    """The completion of one upload."""

    def __init__(self, session: TenantSession, objects: Objects, bounds: RowBounds, upload: Row) -> None:
        self._session, self._objects, self._bounds, self._upload = session, objects, bounds, upload
        self._id = str(upload["id"])

    async def run(self) -> None:
        """Do the whole of it. Content that is refused leaves the upload refused, with its files kept for a next try."""
        files = await self._whole_files()
        await self._verify([file for file in files if file["key"] and not file["verified"]])
        try:
            new = await self._checked(files)
            await self._register(new, files)
        except (Invalid, Refusal) as error:
            await self._refuse(str(error.detail) if isinstance(error, Refusal) else str(error))
            raise

    async def _checked(self, files: list[Row]) -> NewArtifact:
        if self._upload["kind"] == "base_model":
            return await asyncio.to_thread(self._model, files)
        return await task_rows.read_apart(self._session.tenant_id, self._dataset, files)

    async def _whole_files(self) -> list[Row]:
        """Return the files. Raises Conflict with every file of which parts are missing."""
        async with self._session.transaction() as transaction:
            files = await transaction.all("uploads.files", uploads=[self._id])
        problems = [problem for file in files if file["key"] and (problem := _missing(file))]
        if problems:
            raise Conflict(f"The upload {self._id} is not whole.", problems)
        return files

    async def _verify(self, files: list[Row]) -> None:
        """Finish each object and compare it with its digest. Raises Invalid; a wrong file has to be sent again."""
        problems = []
        for file in files:
            async with self._session.transaction() as transaction:
                tags = [row["tag"] for row in await transaction.all("uploads.tags", id=self._id, file=file["name"])]
            await asyncio.to_thread(self._objects.finish, _unfinished(file), tags)
            digest = await self._digest(file)
            if digest == file["sha256"]:
                async with self._session.transaction() as transaction:
                    await transaction.run("uploads.set_verified", id=self._id, file=file["name"])
            else:
                await self._begin_anew(file)
                problems.append(Problem(file["name"], f"bytes with sha256 {digest}",
                                        f"{file['sha256']}, as announced: send its parts again"))
        if problems:
            raise Invalid(problems)

    async def _digest(self, file: Row) -> str:
        digest = hashlib.sha256()
        for begin in range(0, file["bytes"], _READ_BYTES):
            digest.update(await asyncio.to_thread(self._objects.read_range, file["key"], begin, _READ_BYTES))
        return digest.hexdigest()

    async def _begin_anew(self, file: Row) -> None:
        await asyncio.to_thread(self._objects.delete, [file["key"]])
        again = await asyncio.to_thread(self._objects.begin, file["key"], file["part_bytes"], file["sha256"])
        async with self._session.transaction() as transaction:
            await transaction.run("uploads.begin_anew", id=self._id, file=file["name"], unfinished=again.id)

    def _model(self, files: list[Row]) -> NewArtifact:
        """Check the model where it is stored. Raises Invalid."""
        folder = StoredFolder(self._objects, {file["name"]: (file["key"] or "", file["bytes"]) for file in files})
        checked = model_files.inspect(folder)
        by_name = {file["name"]: file for file in files}
        stored = {name: _entry(by_name[name]) for name in checked.names}
        return self._artifact(stored, checked.facts.as_json(), {"ignored": checked.ignored})

    def _dataset(self, files: list[Row]) -> NewArtifact:
        """Check the rows, and store the good ones. Raises Invalid, Unusable."""
        (file,) = files
        with tempfile.TemporaryDirectory(prefix="hone-rows-") as folder:
            good = Path(folder) / task_rows.FILE
            report = self._check_rows(StoredFile(self._objects, file["name"], file["key"], file["bytes"]), good)
            dataset_rows.refuse(report, self._upload["options"]["allow_bad_rows"])
            key = f"artifacts/{self._upload['artifact_id']}/{task_rows.FILE}"
            return self._artifact(
                {task_rows.FILE: put_file(self._objects, key, good)}, report.facts(), report.as_json())

    def _check_rows(self, file: StoredFile, good: Path) -> RowChecks:
        with file.open() as source, good.open("wb") as sink:
            return dataset_rows.check(self._bounds.lines(source), sink.write, self._bounds)

    def _artifact(
        self, stored: dict[str, dict[str, Any]], facts: dict[str, Any], report: dict[str, Any],
    ) -> NewArtifact:
        digests = {name: entry["sha256"] for name, entry in stored.items()}
        return NewArtifact(
            self._upload["artifact_id"], self._upload["kind"], self._upload["name"], artifacts.content_hash(digests),
            {"files": stored, **facts}, report)

    async def _register(self, new: NewArtifact, files: list[Row]) -> None:
        """Name the objects by an artifact, and delete the others. Raises Conflict for a name that is taken."""
        async with self._session.transaction() as transaction:
            added = await artifacts.add(self._session, transaction, new)
            row = await artifacts.same(transaction, new)
            if not await transaction.run("uploads.finish", id=self._id, artifact_id=row["id"]):
                raise Conflict(f"The upload {self._id} ended while it was being completed.")
        written = {entry["key"] for entry in new.manifest["files"].values()}
        named = written if added else set[str]()
        await asyncio.to_thread(
            self._objects.delete, sorted((written | {file["key"] for file in files if file["key"]}) - named))

    async def _refuse(self, reason: str) -> None:
        _log.info("the upload %s is refused: %s", self._id, reason)
        async with self._session.transaction() as transaction:
            await transaction.run("uploads.refuse", id=self._id, reason=reason)


def _missing(file: Row) -> Problem | None:
    count = uploads.parts(file["bytes"], file["part_bytes"])
    missing = sorted({*range(1, count + 1)} - {*file["received"]})
    if not missing:
        return None
    first = ", ".join(map(str, missing[:_LISTED])) + (", …" if len(missing) > _LISTED else "")
    return Problem(file["name"], f"{len(file['received'])} of {count} parts; missing: {first}", f"{count} parts")


def _unfinished(file: Row) -> Unfinished:
    return Unfinished(file["key"], file["unfinished"], file["part_bytes"])


def _entry(file: Row) -> dict[str, Any]:
    return {"key": file["key"], "sha256": file["sha256"], "bytes": file["bytes"]}
