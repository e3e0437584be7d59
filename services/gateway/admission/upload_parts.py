"""One part of an uploaded file: it is checked against its digest, stored, and then noted."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from typing import IO

from fastapi import Request

from hone.spec.problems import Problem
from hone.store.database import Row
from hone.store.objects import ObjectMissing, Objects, Unfinished
from services.gateway.admission.uploads import parts, unknown
from services.gateway.middleware.errors import Conflict, NotFound, Unusable
from services.gateway.middleware.tenancy import TenantSession

_AT_ONCE = 4
"""Parts that are in memory at a time; others wait in files."""

_PIECE_BYTES = 2**20


class PartReceiver:
    """Takes parts of uploads, in any order and side by side."""

    def __init__(self, objects: Objects) -> None:
        self._objects, self._storing = objects, asyncio.Semaphore(_AT_ONCE)

    async def receive(
        self, session: TenantSession, request: Request, upload_id: str, name: str, number: int, sha256: str,
    ) -> None:
        """Store a part, unless it is stored already.

        Raises NotFound, Conflict if no part is taken any more, Unusable for other bytes than announced.
        """
        file = await self._file(session, upload_id, name, number)
        if file["stored_sha256"] == sha256:
            return
        _expect_digest_of_file(file, sha256)
        with tempfile.TemporaryFile(prefix="hone-part-") as spool:
            await _spool(request.stream(), spool, _length(file, number), sha256)
            async with self._storing:
                tag = await asyncio.to_thread(self._store, spool, file, number)
        await self._note(session, upload_id, file, number, sha256, tag)

    async def _file(self, session: TenantSession, upload_id: str, name: str, number: int) -> Row:
        async with session.transaction() as transaction:
            file = await transaction.one("uploads.file", id=upload_id, name=name, number=number)
            known = file or await transaction.one("uploads.one", id=upload_id)
        if known is None:
            raise unknown(upload_id)
        if file is None:
            raise NotFound(f"The upload {upload_id} has no file {name}.")
        if file["state"] != "open":
            raise Conflict(f"The upload {upload_id} is {file['state']} and takes no parts.")
        count = parts(file["bytes"], file["part_bytes"]) if file["key"] else 0
        if not 1 <= number <= count:
            raise Unusable(problems=[Problem("number", str(number), f"1 to {count}, the parts of {name}" if count else
                                             f"no part: nothing would read {name}")])
        return file

    def _store(self, spool: IO[bytes], file: Row, number: int) -> str:
        spool.seek(0)
        content = spool.read()
        if file["unfinished"] is None:
            self._objects.put(file["key"], content)
            return ""
        try:
            return self._objects.put_part(
                Unfinished(file["key"], file["unfinished"], file["part_bytes"]), number, content)
        except ObjectMissing:
            raise Conflict(f"The parts of {file['name']} are not taken any more; look at the upload again.") from None

    async def _note(
        self, session: TenantSession, upload_id: str, file: Row, number: int, sha256: str, tag: str,
    ) -> None:
        whole = file["unfinished"] is None
        async with session.transaction() as transaction:
            noted = await transaction.run(
                "uploads.add_part", id=upload_id, file=file["name"], number=number, sha256=sha256, tag=tag,
                unfinished=file["unfinished"])
            if noted and whole:
                await transaction.run("uploads.set_verified", id=upload_id, file=file["name"])
        if not noted:
            raise Conflict(f"The upload {upload_id} ended while the part was on its way, or {file['name']} began anew.")


def _length(file: Row, number: int) -> int:
    return min(int(file["part_bytes"]), int(file["bytes"]) - (number - 1) * int(file["part_bytes"]))


def _expect_digest_of_file(file: Row, sha256: str) -> None:
    """Raise Unusable if the only part of a file has another digest than the file."""
    if file["unfinished"] is None and sha256 != file["sha256"]:
        raise Unusable(problems=[Problem("query.sha256", sha256, f"{file['sha256']}, as {file['name']} was announced")])


async def _spool(pieces: AsyncIterator[bytes], spool: IO[bytes], length: int, sha256: str) -> None:
    """Write the body to a file. Raises Unusable if it has another length or digest."""
    digest, read, waiting = hashlib.sha256(), 0, bytearray()

    def write() -> None:
        digest.update(waiting)
        spool.write(waiting)
        waiting.clear()

    async for piece in pieces:
        read += len(piece)
        waiting += piece
        if read > length:
            raise Unusable(problems=[Problem("body", f"more than {length} bytes", f"the {length} bytes of this part")])
        if len(waiting) >= _PIECE_BYTES:
            await asyncio.to_thread(write)
    await asyncio.to_thread(write)
    if read != length:
        raise Unusable(problems=[Problem("body", f"{read} bytes", f"the {length} bytes of this part")])
    if digest.hexdigest() != sha256:
        found = f"bytes with sha256 {digest.hexdigest()}"
        raise Unusable(problems=[Problem("body", found, f"{sha256}, as the query says")])

