"""/v1/package-jobs: packages that are made from hints, beside other work."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from hone import ids
from hone.client.package_resources import MOST_TASKS, PACKAGE_NAME, PackageJob
from hone.client.resources import Page
from hone.store.database import Row
from services.gateway.admission.parameters import AfterJob, Id, Limit, page
from services.gateway.middleware.errors import Conflict, NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/package-jobs", tags=["package-jobs"])

MOST_OPEN = 8
"""Jobs of a tenant that have not ended."""


class WantedPackage(BaseModel):
    """A package to be made."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=PACKAGE_NAME, description="What the package is called; it becomes the name's newest "
                      "version.")
    hint: str = Field(min_length=1, max_length=2000, description="What the world is about, for instance a library.")
    seed: int = Field(0, ge=0, lt=2**31, description="Equal hints and seeds give equal packages.")
    tasks: int = Field(64, ge=1, le=MOST_TASKS, description="Tasks that are wanted.")


@router.post("", status_code=202)
async def make(wanted: WantedPackage, caller: Caller) -> PackageJob:
    """Have a package made from a hint. The job says how far it is, and why a hint led to none."""
    made = ids.new("pkg")
    async with caller.transaction() as transaction:
        open_jobs = await transaction.one("package_jobs.open", tenant_id=caller.tenant_id)
        if open_jobs is not None and open_jobs["open"] >= MOST_OPEN:
            raise Conflict(f"{MOST_OPEN} packages are being made, and no more may be.")
        await transaction.run("package_jobs.add", id=made, tenant_id=caller.tenant_id, **wanted.model_dump())
    return await one(made, caller)


@router.get("")
async def listed(caller: Caller, limit: Limit = 50, after: AfterJob = None) -> Page[PackageJob]:
    """List jobs, the newest first."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("package_jobs.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([_job(row) for row in rows], limit, "id")


@router.get("/{job_id}")
async def one(job_id: Id, caller: Caller) -> PackageJob:
    """Return a job."""
    async with caller.transaction() as transaction:
        row = await transaction.one("package_jobs.one", tenant_id=caller.tenant_id, id=job_id)
    if row is None:
        raise NotFound(f"There is no package job {job_id!r}.")
    return _job(row)


def _job(row: Row) -> PackageJob:
    return PackageJob(**row)
