"""/v1/audit: who changed what in a tenant."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Query

from hone.client.account_resources import AuditEntry
from hone.client.resources import Page
from services.gateway.admission.parameters import Limit, page
from services.gateway.declarations import needs
from services.gateway.middleware.tenancy import Caller
from services.gateway.routes.usage import Moment

router = APIRouter(prefix="/v1/audit", tags=["audit"])

_WHOLE_ID = re.compile(r"[a-z]+_[0-9a-z]{18}")
_TEXT: dict[str, Any] = {"min_length": 1, "max_length": 300, "pattern": r"^[^\x00]+$"}

Action = Annotated[str | None, Query(**_TEXT, description="An action or its beginning: `runs.create`, `runs.`.")]
Subject = Annotated[str | None, Query(**_TEXT, description="Id of the object that was made or changed, or a part of "
                                      "the id.")]
Key = Annotated[str | None, Query(**_TEXT, description="Id, name or prefix of a key, or its beginning.")]
Address = Annotated[str | None, Query(**_TEXT, description="Address that requests came from, or its beginning.")]
Search = Annotated[str | None, Query(**_TEXT, description="A part of any column, of request ids as they are written.")]


@router.get("", openapi_extra=needs("admin", "audit log"))
async def listed(
    caller: Caller, limit: Limit = 50,
    after: Annotated[int | None, Query(ge=0, lt=2**63, description="`next` of the previous page.")] = None,
    action: Action = None, subject: Subject = None, key: Key = None, address: Address = None, search: Search = None,
    since: Moment = None, until: Moment = None,
) -> Page[AuditEntry]:
    """List the requests that changed something, newest first: those that fit every filter."""
    whole = subject is not None and _WHOLE_ID.fullmatch(subject) is not None  # is found without reading the others
    async with caller.transaction() as transaction:
        rows = await transaction.all(
            "audit_log.page", tenant_id=caller.tenant_id, action=action, subject=subject if whole else None,
            part=None if whole else subject, key=key, address=address, search=search, since=since, until=until,
            after=after, limit=limit + 1)
    return page([AuditEntry.model_validate(row) for row in rows], limit, "id")
