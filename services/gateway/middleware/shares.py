"""The share of a tenant in the gateway: so many requests at a time, streams and downloads among them."""

from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.middleware.errors import TooMany
from services.gateway.middleware.tenancy import TenantSession


class TenantShare:
    """Refuses a request of a tenant that has `most` others open here. A stream is open until its reader leaves."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._open = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["state"].get("session") if scope["type"] == "http" else None
        if not isinstance(session, TenantSession):
            return await self._app(scope, receive, send)
        tenant_id = session.tenant_id
        if self._open[tenant_id] >= self._most:
            raise TooMany(f"Your tenant has {self._most} requests open at this gateway (HONE_TENANT_REQUESTS), streams "
                          "of events and downloads among them. Try again when a request has ended.")
        self._open[tenant_id] += 1
        try:
            return await self._app(scope, receive, send)
        finally:
            self._open[tenant_id] -= 1
            if not self._open[tenant_id]:
                del self._open[tenant_id]
