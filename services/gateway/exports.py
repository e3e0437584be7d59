"""/v1/runs/…/exports and /v1/exports: a version's weights as files that load anywhere."""

import asyncio
import hashlib
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Request
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, StreamingResponse

from hone import ids
from hone.client.resources import Export, Page
from hone.spec.problems import Invalid, Problem, found
from hone.spec.resolution import canonical
from hone.store.database import AsyncTransaction, Row
from hone.store.objects import Objects
from services.gateway import tarballs
from services.gateway.errors import Conflict, NotFound
from services.gateway.idempotency import Answer, Key, fingerprint, once
from services.gateway.parameters import After, Id, Limit, Store, page
from services.gateway.runs import unknown
from services.gateway.tenancy import Caller, Session

router = APIRouter(tags=["exports"])

DEADLINE_S = 3600.0
"""Seconds that an export may wait for a trainer."""


class NewExport(BaseModel):
    """Which version is wanted."""

    model_config = ConfigDict(extra="forbid", strict=True)

    version_id: str | None = Field(
        None, pattern=r"^\w{1,100}$", description="A version of the run's policy; default: the newest stored one.")


@router.post("/v1/runs/{run_id}/exports", status_code=202, response_model=Export)
async def create(
    request: Request, run_id: Id, caller: Caller, wanted: NewExport | None = None, key: Key = None,
) -> JSONResponse:
    """Ask for a version as files. It is done once a stock engine has loaded it and agreed with it.

    The same version again answers with the export that is there, unless that one failed.
    """
    wanted = wanted or NewExport(version_id=None)
    async with caller.transaction() as transaction:
        async def work() -> Answer:
            return await _append(transaction, caller, run_id, wanted)

        answer = await once(caller, transaction, key, fingerprint(request, wanted.model_dump()), work)
    return answer.response()


async def _append(transaction: AsyncTransaction, session: Session, run_id: str, wanted: NewExport) -> Answer:
    version = await _version(transaction, run_id, wanted.version_id)
    lane = {"model_id": version["model_id"]}
    await transaction.one("gateway.lock_lane", **lane)
    earlier = await transaction.all("gateway.exports_of_version", **lane, version_id=version["id"])
    if earlier and earlier[0]["state"] != "failed":
        return Answer(200, resource(earlier[0]).model_dump(mode="json"))
    seq = await transaction.one("gateway.next_seq", **lane)
    payload, export_id = {"version_id": version["id"]}, ids.new("op")
    again = f"/{len(earlier)}" if earlier else ""
    await transaction.run(
        "gateway.add_export", id=export_id, tenant_id=session.tenant_id, **lane, seq=seq and seq["seq"],
        dedupe_key=f"export/{version['id']}{again}", payload=Jsonb(payload), deadline_s=DEADLINE_S,
        payload_sha=hashlib.sha256(canonical(payload).encode()).hexdigest())
    await transaction.one("gateway.hint", channel="operations", payload=version["model_id"])
    return Answer(202, resource(await _row(transaction, export_id)).model_dump(mode="json"))


async def _version(transaction: AsyncTransaction, run_id: str, version_id: str | None) -> Row:
    run = await transaction.one("gateway.run_state", run_id=run_id)
    if run is None:
        raise unknown(run_id)
    if version_id is None:
        newest = await transaction.one("gateway.newest_version", model_id=run["policy_model_id"])
        if newest is None:
            raise Conflict(f"Run {run_id} is {run['state']} and has no stored version yet.")
        return newest
    version = await transaction.one("gateway.version", version_id=version_id)
    if version is None or version["model_id"] != run["policy_model_id"] or not version["stored"]:
        raise Invalid([Problem("version_id", found(version_id), "a live version of this run whose weights are stored")])
    return version


async def _row(transaction: AsyncTransaction, export_id: str) -> Row:
    row = await transaction.one("gateway.export", export_id=export_id)
    if row is None:
        raise NotFound(f"There is no export {export_id}.")
    return row


def resource(row: Row) -> Export:
    """Return an export operation's row as clients see it."""
    result: dict[str, Any] = row["result"] or {}
    return Export.model_validate({**row, "files": result.get("files", {}), "max_abs_diff": result.get("max_abs_diff"),
                                  "compared_with": result.get("compared_with")})


@router.get("/v1/runs/{run_id}/exports")
async def listed(run_id: Id, caller: Caller, limit: Limit = 50, after: After = None) -> Page[Export]:
    """List a run's exports, newest first."""
    async with caller.transaction() as transaction:
        if await transaction.one("gateway.run_state", run_id=run_id) is None:
            raise unknown(run_id)
        rows = await transaction.all("gateway.exports", run_id=run_id, after=after, limit=limit + 1)
    return page([resource(row) for row in rows], limit, "id")


@router.get("/v1/exports/{export_id}")
async def one(export_id: Id, caller: Caller) -> Export:
    """Return an export: queued, done or failed, and its files."""
    async with caller.transaction() as transaction:
        return resource(await _row(transaction, export_id))


@router.get("/v1/exports/{export_id}/files/{name}", response_class=StreamingResponse)
async def file(export_id: Id, name: Id, caller: Caller, objects: Store) -> StreamingResponse:
    """Download one file of an export."""
    files = await _files(caller, export_id)
    if name not in files:
        raise NotFound(f"Export {export_id} has no file {name}; it has {', '.join(sorted(files))}.")
    content = await asyncio.to_thread(objects.read, files[name]["key"])
    return StreamingResponse(content, media_type="application/octet-stream", headers={
        "ETag": f'"{files[name]["sha256"]}"', "Content-Length": str(files[name]["bytes"]),
        "Content-Disposition": f'attachment; filename="{name}"'})


@router.get("/v1/exports/{export_id}/archive", response_class=StreamingResponse)
async def archive(export_id: Id, caller: Caller, objects: Store) -> StreamingResponse:
    """Download all files of an export as one tar archive."""
    files = await _files(caller, export_id)
    return StreamingResponse(_archive(objects, export_id, files), media_type="application/x-tar", headers={
        "Content-Disposition": f'attachment; filename="{export_id}.tar"',
        "Content-Length": str(tarballs.size([entry["bytes"] for entry in files.values()]))})


def _archive(objects: Objects, export_id: str, files: dict[str, Any]) -> Iterator[bytes]:
    for name, entry in sorted(files.items()):
        yield from tarballs.member(f"{export_id}/{name}", entry["bytes"], objects.read(entry["key"]))
    yield tarballs.END


async def _files(session: Session, export_id: str) -> dict[str, Any]:
    async with session.transaction() as transaction:
        row = await _row(transaction, export_id)
    if row["state"] != "done":
        raise Conflict(f"Export {export_id} is {row['state']}{': ' + row['reason'] if row['reason'] else ''}.")
    files: dict[str, Any] = row["result"]["files"]
    return files
