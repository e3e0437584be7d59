"""The check of a request's key against the scope that its route declares, before the body is read."""

from starlette.types import ASGIApp, Receive, Scope, Send

from hone import scopes
from services.gateway.declarations import Declarations, Need
from services.gateway.middleware.errors import Forbidden
from services.gateway.middleware.tenancy import TenantSession


class Permission:
    """Refuses a request whose key lacks the scope that its route declares."""

    def __init__(self, app: ASGIApp, declarations: Declarations) -> None:
        self._app, self._declarations = app, declarations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["state"].get("session") if scope["type"] == "http" else None
        if isinstance(session, TenantSession):
            check(session, self._declarations.need(scope["method"], scope["path"]))
        await self._app(scope, receive, send)


def check(session: TenantSession, needed: Need, because: str = "") -> None:
    """Raise Forbidden if the key of this session lacks what is needed. `because` is a sentence before the refusal."""
    scope: scopes.Scope = "admin" if needed == "operator" else needed
    if not scopes.includes(session.scopes, scope):
        raise Forbidden(
            f"{because}This needs a key with the scope {scope}; the key {session.key_name} has "
            f"{', '.join(session.scopes)}.",
            extra={"scope": scope})
    if needed == "operator" and not session.operator:
        raise Forbidden("This needs an admin key of the operator, the tenant that administers all tenants.",
                        extra={"scope": "operator"})
