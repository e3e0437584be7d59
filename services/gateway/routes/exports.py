"""/v1/runs/…/exports and /v1/exports: the weights of a version as files that other engines load."""

import asyncio
import hashlib
import tarfile
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Request
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, StreamingResponse

from hone import ids
from hone.client.resources import Export, Page
from hone.environments.hashing import canonical
from hone.models import stock_sampling
from hone.spec.problems import Invalid, Problem, found
from hone.store.database import AsyncTransaction, Row
from hone.store.objects import Objects
from services.gateway.admission import quotas
from services.gateway.admission.parameters import Id, Limit, Store, after, content, page, same
from services.gateway.declarations import needs
from services.gateway.middleware.errors import Conflict, NotFound, unknown_run
from services.gateway.middleware.idempotency import JsonAnswer, Key, fingerprint, once
from services.gateway.middleware.tenancy import Caller, TenantSession

router = APIRouter(tags=["exports"])

AfterExport = Annotated[str | None, after(r"op_\w+")]

DEADLINE_S = 3600.0
"""Seconds that an export may wait for a trainer."""

TAR_END = bytes(2 * tarfile.BLOCKSIZE)
"""The last bytes of a tar archive."""


class NewExport(BaseModel):
    """The version to export."""

    model_config = ConfigDict(extra="forbid", strict=True)

    version_id: str | None = Field(
        None, pattern=r"^\w{1,100}$", description="A version of the run's policy; the newest stored version by "
        "default.")


@router.post("/v1/runs/{run_id}/exports", status_code=202, response_model=Export, responses=same(Export),
             openapi_extra=needs("run", "exports", {"version_id": "ver_1"}))
async def create(
    request: Request, run_id: Id, caller: Caller, wanted: NewExport | None = None, key: Key = None,
) -> JSONResponse:
    """Export a version as files. The export is done once a stock engine has loaded the files and agrees with them.

    A second request for the same version answers with the existing export, unless that one failed. An export that the
    tenant's storage quota has no room for is refused (409).
    """
    wanted = wanted or NewExport(version_id=None)
    async with caller.transaction() as transaction:
        async def work() -> JsonAnswer:
            return await _append(transaction, caller, run_id, wanted)

        answer = await once(caller, transaction, key, fingerprint(request, wanted.model_dump()), work)
    return answer.response()


async def _append(
    transaction: AsyncTransaction, session: TenantSession, run_id: str, wanted: NewExport,
) -> JsonAnswer:
    """Append an export to the operation log of the run's policy, or return the existing export of the version."""
    version = await _version(transaction, run_id, wanted.version_id)
    model = {"model_id": version["model_id"]}
    await transaction.one("models.lock", **model)
    earlier = await transaction.all("operations.exports_of_version", **model, version_id=version["id"])
    if earlier and earlier[0]["state"] != "failed":
        return JsonAnswer(200, _resource(earlier[0]).model_dump(mode="json"))
    await quotas.expect_storage(transaction, session, version["bytes"] or 0)
    seq = await transaction.one("models.take_seq", **model)
    payload, export_id = {"version_id": version["id"]}, ids.new("op")
    again = f"/{len(earlier)}" if earlier else ""
    await transaction.run(
        "operations.add_export", id=export_id, tenant_id=session.tenant_id, **model, seq=seq and seq["seq"],
        dedupe_key=f"export/{version['id']}{again}", payload=Jsonb(payload), deadline_s=DEADLINE_S,
        payload_sha=hashlib.sha256(canonical(payload).encode()).hexdigest())
    await transaction.one("server.notify", channel="operations", payload=version["model_id"])
    return JsonAnswer(202, _resource(await _row(transaction, export_id)).model_dump(mode="json"))


async def _version(transaction: AsyncTransaction, run_id: str, version_id: str | None) -> Row:
    """Return the row of a stored version of the run's policy, the newest by default.

    Raises NotFound, Invalid, and Conflict when no version is stored yet.
    """
    run = await transaction.one("runs.state", run_id=run_id)
    if run is None or run["state"] == "deleting":
        raise unknown_run(run_id)
    if version_id is None:
        newest = await transaction.one("versions.newest_stored", model_id=run["policy_model_id"])
        if newest is None:
            raise Conflict(f"Run {run_id} is {run['state']} and has no stored version yet.")
        return newest
    version = await transaction.one("versions.live", version_id=version_id)
    if version is None or version["model_id"] != run["policy_model_id"] or not version["stored"]:
        raise Invalid([Problem("version_id", found(version_id), "a live version of this run with stored weights")])
    return version


async def _row(transaction: AsyncTransaction, export_id: str) -> Row:
    row = await transaction.one("operations.export", export_id=export_id)
    if row is None:
        raise NotFound(f"There is no export {export_id}.")
    return row


def _resource(row: Row) -> Export:
    """Return an export operation's row as clients see it."""
    result: dict[str, Any] = row["result"] or {}
    defaults = result.get("sampling_defaults", {})
    return Export.model_validate({
        **row, "files": result.get("files", {}), "max_abs_diff": result.get("max_abs_diff"),
        "compared_with": result.get("compared_with"), "sampling_defaults": defaults,
        "sampling_note": stock_sampling.note(defaults, row["trained"] or {})})


@router.get("/v1/runs/{run_id}/exports", openapi_extra=needs("read", "exports"))
async def listed(run_id: Id, caller: Caller, limit: Limit = 50, after: AfterExport = None) -> Page[Export]:
    """List a run's exports, newest first."""
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        rows = await transaction.all("operations.exports_of_run", run_id=run_id, after=after, limit=limit + 1)
    return page([_resource(row) for row in rows], limit, "id")


@router.get("/v1/exports/{export_id}", openapi_extra=needs("read", "exports"))
async def one(export_id: Id, caller: Caller) -> Export:
    """Return an export: queued, done or failed, and its files."""
    async with caller.transaction() as transaction:
        return _resource(await _row(transaction, export_id))


@router.get("/v1/exports/{export_id}/files/{name}", response_class=StreamingResponse,
            responses={**content("application/octet-stream"), 409: {}}, openapi_extra=needs("read", "exports"))
async def file(export_id: Id, name: Id, caller: Caller, objects: Store) -> StreamingResponse:
    """Download one file of an export."""
    files = await _files(caller, export_id)
    if name not in files:
        raise NotFound(f"Export {export_id} has no file {name}; it has {', '.join(sorted(files))}.")
    content = await asyncio.to_thread(objects.read, files[name]["key"])
    return StreamingResponse(content, media_type="application/octet-stream", headers={
        "ETag": f'"{files[name]["sha256"]}"', "Content-Length": str(files[name]["bytes"]),
        "Content-Disposition": f'attachment; filename="{name}"'})


@router.get("/v1/exports/{export_id}/archive", response_class=StreamingResponse,
            responses={**content("application/x-tar"), 409: {}}, openapi_extra=needs("read", "exports"))
async def archive(export_id: Id, caller: Caller, objects: Store) -> StreamingResponse:
    """Download all files of an export as one tar archive."""
    files = await _files(caller, export_id)
    return StreamingResponse(_archive(objects, export_id, files), media_type="application/x-tar", headers={
        "Content-Disposition": f'attachment; filename="{export_id}.tar"',
        "Content-Length": str(tar_size(entry["bytes"] for entry in files.values()))})


def _archive(objects: Objects, export_id: str, files: dict[str, Any]) -> Iterator[bytes]:
    for name, entry in sorted(files.items()):
        yield from tar_member(f"{export_id}/{name}", entry["bytes"], objects.read(entry["key"]))
    yield TAR_END


def tar_member(name: str, length: int, content: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one file of `length` bytes as a tar archive holds it: header, content, padding.

    Equal files give equal bytes: the header holds no owner and no time.
    """
    header = tarfile.TarInfo(name)
    header.size, header.mode = length, 0o644
    yield header.tobuf(tarfile.GNU_FORMAT)  # takes files of 8 GiB and more
    yield from content
    yield bytes(-length % tarfile.BLOCKSIZE)


def tar_size(lengths: Iterable[int]) -> int:
    """Return the bytes of a tar archive with files of these lengths, known before its first byte is sent."""
    return len(TAR_END) + sum(tarfile.BLOCKSIZE + length + -length % tarfile.BLOCKSIZE for length in lengths)


async def _files(session: TenantSession, export_id: str) -> dict[str, Any]:
    """Return the manifest entries of a finished export. Raises NotFound, and Conflict while it is not done."""
    async with session.transaction() as transaction:
        row = await _row(transaction, export_id)
    if row["state"] != "done":
        raise Conflict(f"Export {export_id} is {row['state']}{': ' + row['reason'] if row['reason'] else ''}.")
    files: dict[str, Any] = row["result"]["files"]
    return files
