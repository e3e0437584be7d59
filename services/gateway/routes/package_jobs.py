"""/v1/package-jobs: packages, tasks of the desk, lives, and guidelines for noise that are made from hints, beside other
work.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, Field

from hone import ids
from hone.client.package_resources import LONGEST_MAKING_S, MOST_TASKS, PACKAGE_NAME, PackageJob
from hone.client.resources import Page
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import WrongParams
from hone.environments.tasks import checked_params
from hone.remembering.lives import Sizes
from hone.spec.guidelines import GuidelineSpec
from hone.spec.problems import Invalid, Problem, found, unstorable
from hone.spec.roles import AuthorSpec, TrialSpec
from hone.store.database import AsyncTransaction, Row
from services.gateway.admission import judges
from services.gateway.admission.parameters import Id, Limit, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import Conflict, NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/package-jobs", tags=["package-jobs"])

AfterJob = Annotated[str | None, after(r"pkg_\w+")]

MOST_OPEN = 8
"""Jobs of a tenant that have not ended."""
MOST_ROWS = 64
"""Tasks of the desk or lives of one job: a row is up to 200 kB."""
_ROWS = {"desk": "tasks", "changing_user": "lives", "noise": "scenes"}
"""Parts of a job of which there are at most MOST_ROWS, by environment."""
_UNUSED = {"package": {"validator"}, "desk": {"trial"}, "changing_user": {"trial"}, "noise": {"trial", "validator"}}
"""Models that no job has a use for, by environment."""


class WantedPackage(BaseModel):
    """A package to be made, or tasks of the desk, or lives of changing users, or a guideline for noise."""

    model_config = ConfigDict(extra="forbid")

    environment: Literal["package", "desk", "changing_user", "noise"] = Field(
        "package", description="desk: tasks of the desk, as rows for a dataset; no trial. changing_user: "
        "lives of users, the same. noise: a guideline for noise under which an agent deviates.")
    name: str = Field(pattern=PACKAGE_NAME, description="Name of the package; the result becomes the name's newest "
                      "version. Of tasks of the desk and of lives: their name.")
    hint: str = Field(min_length=1, max_length=2000, description="Subject of the world, for instance a library.")
    seed: int = Field(0, ge=0, lt=2**31, description="Equal hints and seeds give equal packages.")
    tasks: int = Field(64, ge=1, le=MOST_TASKS, description="Tasks that are wanted, or lives; of a "
                       "guideline: results of tools in which it is tried.")
    sizes: Sizes | None = Field(None, description="Of lives: how large each is; null: the defaults of the "
                                "environment. Its rounds are not read.")
    author: AuthorSpec | None = Field(None, description="A model that writes the package; null: the seeded "
                                      "generator. Lives need one, and guidelines: it rewrites them.")
    trial: TrialSpec | None = Field(None, description="A model that tries each task, with all tools and with half of "
                                    "them: only tasks where that makes a difference are kept; null: none.")
    validator: AuthorSpec | None = Field(None, description="Of tasks of the desk: a model that reads the tasks that "
                                         "passed the gates. Of lives: a model that reads openers and answers. null: "
                                         "the author.")
    guideline: GuidelineSpec | None = Field(None, description="Of a guideline: its noise, the agent that should "
                                            "deviate, and the other models that take part.")
    within_s: int = Field(3600, ge=1, le=LONGEST_MAKING_S, description="Seconds that the making may take.")


@router.post("", status_code=202, openapi_extra=needs("run", "package jobs", {
    "name": "library", "hint": "a library with loans and fees", "tasks": 16}))
async def make(wanted: WantedPackage, caller: Caller) -> PackageJob:
    """Have a package made from a hint. The job says how far it is, and why a hint led to none."""
    made = ids.new("pkg")
    async with caller.transaction() as transaction:
        if problems := unstorable(wanted.model_dump(mode="json")) or await _problems(transaction, wanted):
            raise Invalid(problems)
        await transaction.one("package_jobs.lock", tenant_id=caller.tenant_id)
        open_jobs = await transaction.one("package_jobs.open", tenant_id=caller.tenant_id)
        if open_jobs is not None and open_jobs["open"] >= MOST_OPEN:
            raise Conflict(f"{MOST_OPEN} packages are being made, and no more may be.")
        caller.about(made)
        await transaction.run("package_jobs.add", id=made, tenant_id=caller.tenant_id, key_id=caller.key_id, **{
            **wanted.model_dump(), "sizes": _json(wanted.sizes), "guideline": _json(wanted.guideline),
            **{at: _json(asked) for at, asked in _asked(wanted)}})
    return await one(made, caller)


async def _problems(transaction: AsyncTransaction, wanted: WantedPackage) -> list[Problem]:
    """Return why the models cannot be asked that a package needs."""
    problems = _unfit(wanted)
    for at, asked in _taking_part(wanted):
        if asked is not None:
            kind = "endpoint" if asked.model is None else "model"
            wrong = await judges.problem(transaction, f"{at}.{kind}", asked.named, "chat")
            if wrong is None and kind == "model" and await transaction.one("judges.known", name=asked.named):
                wrong = Problem(f"{at}.model", f"{asked.named}, which is a judge", "a model, or this name as endpoint")
            problems += [wrong] if wrong else []
    return problems


def _asked(wanted: WantedPackage) -> list[tuple[str, AuthorSpec | None]]:
    """Return the models of a job by their field."""
    return [("author", wanted.author), ("trial", wanted.trial), ("validator", wanted.validator)]


def _taking_part(wanted: WantedPackage) -> list[tuple[str, AuthorSpec | None]]:
    """Return all models that are asked, by their field."""
    search = wanted.guideline
    return [*_asked(wanted), *([] if search is None else [
        ("guideline.target", search.target), ("guideline.noiser", search.noiser), ("guideline.judge", search.judge)])]


def _unfit(wanted: WantedPackage) -> list[Problem]:
    """Return which models are there that the environment has no use for, or are not there."""
    unused = _UNUSED[wanted.environment]
    problems = [Problem(at, asked.named, f"no value, because environment is {wanted.environment}")
                for at, asked in _asked(wanted) if at in unused and asked is not None]
    if (wanted.guideline is None) is (wanted.environment == "noise"):
        problems.append(Problem("guideline", "nothing" if wanted.guideline is None else wanted.guideline.type,
                                "a guideline if and only if environment is noise"))
    elif wanted.guideline is not None:
        problems += _unplayable(wanted.guideline)
    if wanted.sizes is not None and wanted.environment != "changing_user":
        problems.append(Problem("sizes", "sizes of a life", f"no value, because environment is {wanted.environment}"))
    if made := _ROWS.get(wanted.environment):
        problems += _unfit_rows(wanted, made)
    return problems


def _unplayable(search: GuidelineSpec) -> Iterator[Problem]:
    """Yield why a target cannot act in an environment: it is played beside other work, by tools, and with no user."""
    environment = ENVIRONMENTS.get(search.environment)
    if environment is None or environment.foreign or environment.asked_roles or environment.harness != "tool_loop" or (
            search.environment == "package"):
        yield Problem("guideline.environment", search.environment, "an environment with tools and no user: sqlite, "
                      "desk")
        return
    try:
        checked_params(search.environment, search.params)
    except WrongParams as wrong:
        yield Problem(f"guideline.{wrong.field}", found(wrong.found), wrong.expected)


def _unfit_rows(wanted: WantedPackage, made: str) -> Iterator[Problem]:
    if wanted.author is None and made == "scenes":
        yield Problem("author", "nothing", "a model that rewrites the guideline")
    if wanted.author is None and made == "lives":
        yield Problem("author", "nothing", "a model that writes the lives; without a model the environment draws them")
    if wanted.author is None and made == "tasks" and wanted.validator is not None:
        yield Problem("validator", wanted.validator.named, "no value without an author: a script reads generated lives")
    if wanted.tasks > MOST_ROWS:
        yield Problem("tasks", str(wanted.tasks), f"at most {MOST_ROWS} {made}")


def _json(given: BaseModel | None) -> Jsonb | None:
    return None if given is None else Jsonb(given.model_dump(mode="json", exclude_none=True))


@router.get("", openapi_extra=needs("read", "package jobs"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterJob = None) -> Page[PackageJob]:
    """List jobs, the newest first."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("package_jobs.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([_job(row) for row in rows], limit, "id")


@router.get("/{job_id}", openapi_extra=needs("read", "package jobs"))
async def one(job_id: Id, caller: Caller) -> PackageJob:
    """Return a job."""
    async with caller.transaction() as transaction:
        row = await transaction.one("package_jobs.one", tenant_id=caller.tenant_id, id=job_id)
    if row is None:
        raise NotFound(f"There is no package job {job_id!r}.")
    return _job(row)


@router.get("/{job_id}/rows", openapi_extra=needs("read", "package jobs"))
async def rows(job_id: Id, caller: Caller) -> list[dict[str, Any]]:
    """Return the tasks of the desk or the lives that a job made, as rows of a dataset for its environment; of noise the
    guideline with its history.
    """
    async with caller.transaction() as transaction:
        row = await transaction.one("package_jobs.rows", tenant_id=caller.tenant_id, id=job_id)
    if row is None:
        raise NotFound(f"There is no package job {job_id!r}.")
    if row["rows"] is None:
        raise NotFound(f"The package job {job_id!r} has made no rows.")
    return list(row["rows"])


@router.post("/{job_id}/cancel", openapi_extra=needs("run", "package jobs"))
async def cancel(job_id: Id, caller: Caller) -> PackageJob:
    """End a job that has not ended. What it makes is not kept; one that has ended stays as it is."""
    async with caller.transaction() as transaction:
        await transaction.run("package_jobs.cancel", tenant_id=caller.tenant_id, id=job_id)
    return await one(job_id, caller)


def _job(row: Row) -> PackageJob:
    return PackageJob(**row)
