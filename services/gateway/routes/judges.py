"""/v1/judges and /v1/secrets: endpoints that graders ask, and the keys that those need."""

from typing import Annotated

from fastapi import APIRouter, Path
from psycopg.types.json import Jsonb
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse

from hone import sealing
from hone.client.judge_resources import (
    JUDGE_NAME,
    SECRET_NAME,
    Judge,
    JudgeSpending,
    Secret,
    WantedJudge,
    header_text,
)
from hone.client.resources import Page
from hone.spec.problems import Invalid, Problem
from services.gateway.admission.parameters import AfterName, Config, Id, Limit, after, page, same
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound, unknown_run
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1", tags=["judges"])

AfterSecret = Annotated[str | None, after(r"[A-Za-z0-9_.-]+")]

Name = Annotated[str, Path(pattern=JUDGE_NAME, description="Name of the judge, as graders give it in `model`.")]
SecretName = Annotated[str, Path(pattern=SECRET_NAME, description="Name of the secret, as judges give it in `secret`.")]


class WantedSecret(BaseModel):
    """A secret's value."""

    model_config = ConfigDict(extra="forbid", strict=True)

    value: Annotated[str, AfterValidator(header_text)] = Field(
        min_length=1, max_length=10_000,
        description="It is stored encrypted, and nobody can read it: printable ASCII, as a header can have it.")


@router.get("/judges", openapi_extra=needs("read", "judges"))
async def listed(caller: Caller, limit: Limit = 50, after: AfterName = None) -> Page[Judge]:
    """List judges by name."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("judges.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([Judge.model_validate(row) for row in rows], limit, "name")


@router.get("/judges/{name}", openapi_extra=needs("read", "judges"))
async def one(name: Id, caller: Caller) -> Judge:
    """Return a judge."""
    async with caller.transaction() as transaction:
        row = await transaction.one("judges.one", tenant_id=caller.tenant_id, name=name)
    if row is None:
        raise NotFound(f"There is no judge {name!r}.")
    return Judge.model_validate(row)


@router.put("/judges/{name}", status_code=201, response_model=Judge, responses=same(Judge),
            openapi_extra=needs("admin", "judges", {
                 "url": "https://judge.example/v1", "model": "large", "secret": "judge-key"}))
async def put(name: Name, wanted: WantedJudge, caller: Caller) -> JSONResponse:
    """Set a judge: what is absent gets its default. 201: it is new. Its next question goes to the new address."""
    if wanted.terms.protocol in ("chat", "pooling") and not wanted.model:
        raise Invalid([Problem("model", "nothing", "the model, as the endpoint names it")])
    async with caller.transaction() as transaction:
        row = await transaction.one(
            "judges.put", tenant_id=caller.tenant_id, name=name, url=wanted.url, model=wanted.model,
            secret=wanted.secret, terms=Jsonb(wanted.terms.model_dump()))
    assert row is not None
    made = Judge.model_validate({field: value for field, value in row.items() if field != "new"})
    return JSONResponse(made.model_dump(mode="json"), 201 if row["new"] else 200)


@router.delete("/judges/{name}", openapi_extra=needs("admin", "judges"))
async def delete(name: Id, caller: Caller) -> Judge:
    """Delete a judge. Samples of runs that still ask it are masked. Returns what it was."""
    async with caller.transaction() as transaction:
        row = await transaction.one("judges.delete", tenant_id=caller.tenant_id, name=name)
    if row is None:
        raise NotFound(f"There is no judge {name!r}.")
    return Judge.model_validate(row)


@router.get("/runs/{run_id}/judges", openapi_extra=needs("read", "judges"))
async def spending(run_id: Id, caller: Caller) -> Page[JudgeSpending]:
    """Return the usage of each judge of a run so far."""
    async with caller.transaction() as transaction:
        if await transaction.one("runs.state", run_id=run_id) is None:
            raise unknown_run(run_id)
        rows = await transaction.all("judges.spending", run_id=run_id)
    return Page(data=[JudgeSpending.model_validate(row) for row in rows], next=None)


@router.get("/secrets", openapi_extra=needs("admin", "secrets"))
async def secrets(caller: Caller, limit: Limit = 50, after: AfterSecret = None) -> Page[Secret]:
    """List secrets by name, without their values."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("judges.secrets", tenant_id=caller.tenant_id, after=after, limit=limit + 1)
    return page([Secret.model_validate(row) for row in rows], limit, "name")


@router.put("/secrets/{name}", openapi_extra=needs("admin", "secrets", {"value": "the key of the endpoint"}))
async def put_secret(name: SecretName, wanted: WantedSecret, caller: Caller, settings: Config) -> Secret:
    """Set a secret. It is encrypted here, and only the reward service opens it, to show it to the judge's endpoint."""
    sealed = sealing.sealed(settings.stack_token, caller.tenant_id, wanted.value)
    async with caller.transaction() as transaction:
        row = await transaction.one("judges.put_secret", tenant_id=caller.tenant_id, name=name, sealed=sealed)
    return Secret.model_validate(row)


@router.delete("/secrets/{name}", openapi_extra=needs("admin", "secrets"))
async def delete_secret(name: Id, caller: Caller) -> Secret:
    """Delete a secret. Judges that need it fail until it is set again."""
    async with caller.transaction() as transaction:
        row = await transaction.one("judges.delete_secret", tenant_id=caller.tenant_id, name=name)
    if row is None:
        raise NotFound(f"There is no secret {name!r}.")
    return Secret.model_validate(row)
