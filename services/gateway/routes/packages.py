"""/v1/packages: environment packages, and domains of tau2-bench's format, under a name."""

from typing import Annotated, Any

from fastapi import APIRouter, File, Path, Query, UploadFile
from psycopg.types.json import Jsonb
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from hone.client.package_resources import PACKAGE_NAME, EnvironmentPackage
from hone.client.resources import Page
from hone.environments.packages import archive
from hone.environments.packages.facts import facts
from hone.environments.packages.package import WrongPackage
from hone.environments.tau2 import archive as domains
from hone.environments.tau2.facts import facts as domain_facts
from hone.spec.problems import Invalid, Problem
from hone.spec.settings import Settings
from hone.store.database import Row
from services.gateway.admission.domains import prove, proven
from services.gateway.admission.parameters import AfterName, Config, Id, Limit, page, same
from services.gateway.declarations import needs
from services.gateway.middleware.errors import Conflict, NotFound
from services.gateway.middleware.tenancy import Caller, TenantSession

router = APIRouter(prefix="/v1/packages", tags=["packages"])

Name = Annotated[str, Path(pattern=PACKAGE_NAME, description="Name of the package, as specs give it.")]
Version = Annotated[int | None, Query(ge=1, lt=2**31, description="A version of the name; when absent, its current "
                                      "version.")]


@router.get("", openapi_extra=needs("read", "packages"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterName = None) -> Page[EnvironmentPackage]:
    """List names with the package that each means now."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("packages.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([_resource(row) for row in rows], limit, "name")


@router.put("/{name}", status_code=201, response_model=EnvironmentPackage, responses=same(EnvironmentPackage),
            openapi_extra=needs("run", "packages", {"file": "the bytes of a ZIP archive"}, "multipart/form-data"))
async def put(
    name: Name, caller: Caller, settings: Config,
    file: Annotated[UploadFile, File(json_schema_extra={"format": "binary"}, description="A ZIP archive of "
                                     "package.json, tools.py, tasks.jsonl and tests.jsonl; or of a domain in the "
                                     "format of tau2-bench, at the paths of its repository.")],
) -> JSONResponse:
    """Add a package under a name, or change what the name means. 201: the content is new.

    It is run in the sandbox first, unless its content is known: a package is refused with the tasks that their chains
    do not solve, and of a domain the answer names each task whose gold actions fail.
    """
    try:
        digest, known, content = await _kept(await file.read(), caller, settings)
    except WrongPackage as wrong:
        raise Invalid([Problem(f"file.{wrong.field}", str(wrong.found)[:200], wrong.expected)]) from wrong
    async with caller.transaction() as transaction:
        await transaction.one("packages.lock", tenant_id=caller.tenant_id, name=name)
        row = await transaction.one("packages.put", tenant_id=caller.tenant_id, name=name, digest=digest,
                                    facts=Jsonb(known), content=content)
    assert row is not None
    return JSONResponse(_resource(row).model_dump(mode="json"), 201 if row["new"] else 200)


@router.get("/{name}", openapi_extra=needs("read", "packages"))
async def one(name: Id, caller: Caller, version: Version = None) -> EnvironmentPackage:
    """Return the package that a name means."""
    return _resource(await _row(caller, name, version))


@router.get("/{name}/archive", response_class=Response, responses={200: {"content": {"application/zip": {
    "schema": {"type": "string", "format": "binary"}}}, "description": "The archive."}},
            openapi_extra=needs("read", "packages"))
async def exported(name: Id, caller: Caller, version: Version = None) -> Response:
    """Return a package as a ZIP archive."""
    row = await _row(caller, name, version)
    async with caller.transaction() as transaction:
        found = await transaction.one("packages.content", tenant_id=caller.tenant_id, digest=row["digest"])
    assert found is not None
    return Response(bytes(found["content"]), media_type="application/zip")


@router.delete("/{name}", openapi_extra=needs("run", "packages"))
async def delete(name: Id, caller: Caller) -> EnvironmentPackage:
    """Delete a name with all its versions, unless an open run plays one of them. Returns what it was."""
    async with caller.transaction() as transaction:
        run = await transaction.one("packages.in_use", tenant_id=caller.tenant_id, name=name)
        if run is not None:
            raise Conflict(f"The run {run['id']} plays a version of {name!r} and has not ended.")
        rows = await transaction.all("packages.delete", tenant_id=caller.tenant_id, name=name)
    if not rows:
        raise NotFound(f"There is no package {name!r}.")
    return _resource(max(rows, key=lambda row: row["created_at"]))


async def _kept(data: bytes, caller: TenantSession, settings: Settings) -> tuple[str, dict[str, Any], bytes]:
    """Return digest, facts and archive of what was sent. Raises WrongPackage, Away and Invalid."""
    if await run_in_threadpool(domains.holds_domain, data):
        domain = await proven(data, caller.tenant_id, settings)
        return domain.digest, domain_facts(domain), await run_in_threadpool(domains.packed, domain.files, domain.found)
    found = await run_in_threadpool(archive.unpacked, data)
    async with caller.transaction() as transaction:
        row = await transaction.one("packages.known", tenant_id=caller.tenant_id, reference=found.digest)
    if row is None or row["digest"] != found.digest:
        await prove(found, caller.tenant_id, settings)
    return found.digest, facts(found), await run_in_threadpool(archive.packed, found.files)


async def _row(caller: Caller, name: str, version: int | None) -> Row:
    async with caller.transaction() as transaction:
        row = await transaction.one("packages.one", tenant_id=caller.tenant_id, name=name, digest=None, version=version)
    if row is None:
        raise NotFound(f"There is no package {name!r}" + (f" with the version {version}." if version else "."))
    return row


def _resource(row: Row) -> EnvironmentPackage:
    fields = ("name", "version", "digest", "bytes", "created_at")
    return EnvironmentPackage(**row["facts"], **{field: row[field] for field in fields})
