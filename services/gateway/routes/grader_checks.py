"""/v1/graders/checks: graders measured on labelled sets. The reward service makes a check; its row says how far."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from hone import ids
from hone.algorithms.agreement import Agreement, pooled
from hone.client.check_resources import AgreementCounts, AgreementFigures, GraderCheck
from hone.client.resources import Page
from hone.environments import row_json
from hone.graders.labelled_pairs import MASTER_KEY
from hone.spec.problems import Invalid, unstorable
from hone.store.database import AsyncTransaction, Row
from services.gateway.admission import grader_checks, graders
from services.gateway.admission.parameters import Config, Id, Limit, after, page
from services.gateway.declarations import needs
from services.gateway.middleware.errors import NotFound
from services.gateway.middleware.tenancy import Caller

router = APIRouter(prefix="/v1/graders/checks", tags=["graders"])

AfterCheck = Annotated[str | None, after(r"check_\w+")]


class WantedCheck(BaseModel):
    """A grader and a labelled set."""

    model_config = ConfigDict(extra="forbid")

    grader: dict[str, Any] = Field(description="JSON of a grader of single outputs.")
    set: str = Field("short_answers", max_length=300, description="A set that comes with Hone: short_answers; or "
                     "dataset:NAME of a dataset of yours. Its rows have output, label and perhaps kind and item.")


@router.post("", status_code=202,
             openapi_extra=needs("run", "grader checks", {"grader": {"type": "exact"}, "set": "short_answers"}))
async def check_requested(wanted: WantedCheck, caller: Caller, settings: Config) -> GraderCheck:
    """Ask for a check: the grader grades every pair of the set, and its judges are asked anew. GET shows how far it is.
    """
    spec = await graders.checked(caller, wanted.grader)
    async with caller.transaction() as transaction:
        if problems := unstorable(wanted.model_dump()) or await grader_checks.problems(transaction, spec, wanted.set):
            raise Invalid(problems)
        await grader_checks.expect_room(transaction, caller.tenant_id, settings.tenant_checks)
        made = ids.new("check")
        await transaction.run("grader_checks.add", id=made, tenant_id=caller.tenant_id, key_id=caller.key_id,
                              grader=spec.json, grader_hash=spec.hash, set_name=wanted.set)
        return await _one(transaction, caller.tenant_id, made)


@router.get("", openapi_extra=needs("read", "grader checks"))
async def checks(
    caller: Caller, limit: Limit = 50, after: AfterCheck = None,
    run_id: Annotated[str | None, Query(
        pattern=r"^run_\w+$", max_length=100, description="Only checks of this run.")] = None,
    grader_hash: Annotated[str | None, Query(
        pattern=r"^[0-9a-f]+$", max_length=100, description="Only checks of this grader.")] = None,
) -> Page[GraderCheck]:
    """List checks, the newest first."""
    async with caller.transaction() as transaction:
        rows = await transaction.all("grader_checks.page", tenant_id=caller.tenant_id, after=after, limit=limit + 1,
                                     run_id=run_id, grader_hash=grader_hash)
    return page([_resource(row) for row in rows], limit, "id")


@router.get("/{check_id}", openapi_extra=needs("read", "grader checks"))
async def check(check_id: Id, caller: Caller) -> GraderCheck:
    """Return a check."""
    async with caller.transaction() as transaction:
        return await _one(transaction, caller.tenant_id, check_id)


async def _one(transaction: AsyncTransaction, tenant_id: str, check_id: str) -> GraderCheck:
    row = await transaction.one("grader_checks.one", tenant_id=tenant_id, id=check_id)
    if row is None:
        raise NotFound(f"There is no check {check_id!r}.")
    return _resource(row)


def _resource(row: Row) -> GraderCheck:
    counts = {kind: Agreement(**one) for kind, one in row["counts"].items()}
    keys = counts.get(MASTER_KEY, Agreement()).false_accepts
    given = {name: value for name, value in row.items() if name not in ("grader", "set_name", "counts")}
    return GraderCheck(
        **given, grader=row_json.plain(row_json.read(row["grader"])), set=row["set_name"],
        counts={kind: AgreementCounts(**vars(one)) for kind, one in counts.items()},
        figures=AgreementFigures(**pooled(counts.values()).figures(), key_accepts=keys))
