"""Authentication by API key, before a byte of the body is read."""

from collections.abc import Collection
from dataclasses import replace

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hone import keys, passes
from hone.spec.problems import Problem
from hone.store.database import AsyncDatabase
from hone.store.key_uses import KeyUses
from services.gateway.middleware.audit import AuditedRequest
from services.gateway.middleware.errors import Unauthenticated
from services.gateway.middleware.tenancy import TenantSession

ASKED = ("/v1/chat/completions", "/v1/pooling", "/v1/models/")
"""Paths at which other services of the stack ask models."""


class Authentication:
    """Sets `request.state.session` from `Authorization: Bearer` or `X-API-Key`; `open_paths` need no key."""

    def __init__(self, app: ASGIApp, database: AsyncDatabase, open_paths: Collection[str], stack_token: str) -> None:
        """A pass that is made of the `stack_token` opens `ASKED` alone."""
        self._app, self._database, self._open, self._stack_token = app, database, open_paths, stack_token
        self._uses = KeyUses(database)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self._open:
            secret = _secret(Headers(scope=scope))
            if secret.startswith(passes.PREFIX):
                session = self._of_service(secret, scope["path"])
            else:
                session = await self._session(secret)
                await self._uses.note(session.tenant_id, session.key_id)
            scope["state"]["session"] = replace(session, audited=AuditedRequest(scope))
        await self._app(scope, receive, send)

    async def _session(self, secret: str) -> TenantSession:
        holder = await self._database.one("api_keys.holder", hash=keys.digest(secret))
        if holder is None:
            raise Unauthenticated([Problem("Authorization", f"a key {_beginning(secret)}", "a key that is in use")])
        return TenantSession(holder["tenant_id"], holder["id"], holder["name"], holder["scopes"], holder["operator"],
                             self._database)


    def _of_service(self, secret: str, path: str) -> TenantSession:
        """Return the session of another service of the stack. Raises Unauthenticated."""
        holder = passes.read(self._stack_token, secret)
        if holder is None or not path.startswith(ASKED):
            raise Unauthenticated([Problem("Authorization", "a pass", "a key that is in use")])
        return TenantSession(holder.tenant_id, holder.key_id, "a service of the stack", ("run",), False, self._database)


def _secret(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    secret = headers.get("x-api-key", "") or (token.strip() if scheme.lower() == "bearer" else "")
    if not secret:
        raise Unauthenticated([Problem("Authorization", "no key", f"Bearer {keys.PREFIX}…")])
    return secret


def _beginning(secret: str) -> str:
    return f"beginning with {keys.PREFIX}" if secret.startswith(keys.PREFIX) else f"not beginning with {keys.PREFIX}"
