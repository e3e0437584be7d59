"""/v1/audit: who changed what in a tenant."""

from typing import Annotated

from fastapi import APIRouter, Query

from hone.client.account_resources import AuditEntry
from hone.client.resources import Page
from services.gateway.admission.parameters import Limit, page
from services.gateway.middleware.tenancy import Caller
from services.gateway.routes.usage import Moment

router = APIRouter(prefix="/v1/audit", tags=["audit"])

Filter = Annotated[str | None, Query(min_length=1, max_length=300, pattern=r"^[^\x00]+$")]


@router.get("")
async def listed(
    caller: Caller, limit: Limit = 50,
    after: Annotated[int | None, Query(ge=0, lt=2**63, description="`next` of the previous page.")] = None,
    action: Filter = None, subject: Filter = None, key_id: Filter = None, since: Moment = None, until: Moment = None,
) -> Page[AuditEntry]:
    """List the requests that changed something, newest first: by action (`runs.create`), subject, key and time."""
    async with caller.transaction() as transaction:
        rows = await transaction.all(
            "audit_log.page", tenant_id=caller.tenant_id, action=action, subject=subject, key_id=key_id, since=since,
            until=until, after=after, limit=limit + 1)
    return page([AuditEntry.model_validate(row) for row in rows], limit, "id")
