"""/v1/audit: who changed what in a tenant."""

from typing import Annotated

from fastapi import APIRouter, Query

from hone.client.account_resources import AuditEntry
from hone.client.resources import Page
from services.gateway.admission.parameters import Limit, page
from services.gateway.middleware.tenancy import Caller
from services.gateway.routes.usage import Moment

router = APIRouter(prefix="/v1/audit", tags=["audit"])

_PLAIN = r"^[^\x00]+$"
Part = Annotated[str | None, Query(min_length=1, max_length=300, pattern=_PLAIN, description="A part of it.")]
KeyId = Annotated[str | None, Query(min_length=1, max_length=300, pattern=_PLAIN)]


@router.get("")
async def listed(
    caller: Caller, limit: Limit = 50,
    after: Annotated[int | None, Query(ge=0, lt=2**63, description="`next` of the previous page.")] = None,
    action: Part = None, subject: Part = None, key_id: KeyId = None, since: Moment = None, until: Moment = None,
) -> Page[AuditEntry]:
    """List the requests that changed something, newest first.

    By a part of the action (`runs.create`, `runs`) or of the subject's id, by key and by time.
    """
    async with caller.transaction() as transaction:
        rows = await transaction.all(
            "audit_log.page", tenant_id=caller.tenant_id, action=action, subject=subject, key_id=key_id, since=since,
            until=until, after=after, limit=limit + 1)
    return page([AuditEntry.model_validate(row) for row in rows], limit, "id")
