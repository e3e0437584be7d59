"""/v1/uploads: models and datasets in parts, sent side by side, in any order, and on after an interruption."""

from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from hone.client.resources import Page
from hone.client.upload_resources import Upload
from services.gateway.admission import uploads
from services.gateway.admission.completion import Completions
from services.gateway.admission.parameters import Config, Id, Limit, Store, after, same
from services.gateway.admission.upload_parts import PartReceiver
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/uploads", tags=["uploads"])

AfterUpload = Annotated[str | None, after(r"upl_\w+")]

Number = Annotated[int, Path(description="Number of the part, from 1. It begins at byte (number - 1) * part_bytes.")]
Digest = Annotated[uploads.Sha256, Query(description="Digest of the part, in small hexadecimal digits.")]



def _receiver(request: Request) -> PartReceiver:
    return cast(PartReceiver, request.app.state.receiver)


def _completions(request: Request) -> Completions:
    return cast(Completions, request.app.state.completions)


_BYTES = {"requestBody": {"required": True, "content": {"application/octet-stream": {
    "schema": {"type": "string", "format": "binary"}, "example": "the bytes of the part"}}}}


@router.post("", status_code=201, response_model=Upload, responses=same(Upload), openapi_extra=needs("run", "uploads", {
    "kind": "dataset", "name": "sums", "files": [{"name": "rows.jsonl", "bytes": 36, "sha256": "0" * 64}]}))
async def create(
    wanted: uploads.NewUpload, response: Response, caller: Caller, objects: Store, settings: Config,
) -> Upload:
    """Announce files, and learn which parts to send. The same files again answer 200 with the upload that is open."""
    upload, new = await uploads.create(caller, objects, settings, wanted)
    if not new:
        response.status_code = 200
    return upload


@router.get("", openapi_extra=needs("read", "uploads"))
async def listed(
    caller: Caller, settings: Config, limit: Limit = 50, after: AfterUpload = None,
    state: Annotated[Literal["open", "refused", "done", "aborted", "expired"] | None, Query()] = None,
) -> Page[Upload]:
    """List uploads, newest first."""
    return await uploads.listed(caller, settings, state, limit, after)


@router.get("/{upload_id}", openapi_extra=needs("read", "uploads"))
async def one(upload_id: Id, caller: Caller, settings: Config) -> Upload:
    """Return an upload with the parts that are stored."""
    return await uploads.one(caller, settings, upload_id)


@router.put("/{upload_id}/files/{name}/parts/{number}", status_code=204,
            openapi_extra=needs("run", "uploads") | _BYTES)
async def put_part(
    request: Request, upload_id: Id, name: Id, number: Number, sha256: Digest, caller: Caller,
    receiver: Annotated[PartReceiver, Depends(_receiver)],
) -> None:
    """Store a part, once: the same part again changes nothing. Other bytes than `sha256` says are refused."""
    await receiver.receive(caller, request, upload_id, name, number, sha256)


@router.post("/{upload_id}/complete", responses={202: {"model": Upload, "description": "Still being verified."}},
             openapi_extra=needs("run", "uploads"))
async def complete(
    upload_id: Id, response: Response, caller: Caller, settings: Config,
    completions: Annotated[Completions, Depends(_completions)],
) -> Upload:
    """Verify the files and register the model or dataset. Answers 202 while that goes on; ask again then."""
    if not await completions.complete(caller, upload_id):
        response.status_code = 202
    return await uploads.one(caller, settings, upload_id)


@router.delete("/{upload_id}", openapi_extra=needs("run", "uploads"))
async def abort(upload_id: Id, caller: Caller, objects: Store, settings: Config) -> Upload:
    """End an upload and delete what was sent."""
    return await uploads.abort(caller, objects, settings, upload_id)
