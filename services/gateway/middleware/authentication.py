"""Authentication by API key, before a byte of the body is read."""

import time
from collections.abc import Collection
from dataclasses import replace

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hone import keys
from hone.spec.problems import Problem
from hone.store.database import AsyncDatabase
from services.gateway.middleware.audit import AuditedRequest
from services.gateway.middleware.errors import Unauthenticated
from services.gateway.middleware.tenancy import TenantSession

USE_NOTED_S = 60.0
"""Seconds within which a key's use is written once, and not with each request."""


class Authentication:
    """Sets `request.state.session` from `Authorization: Bearer` or `X-API-Key`; `open_paths` need no key."""

    def __init__(self, app: ASGIApp, database: AsyncDatabase, open_paths: Collection[str]) -> None:
        self._app, self._database, self._open = app, database, open_paths
        self._noted: dict[str, float] = {}  # when the use of a key was written, by its id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self._open:
            session = await self._session(_secret(Headers(scope=scope)))
            await self._note_use(session)
            scope["state"]["session"] = replace(session, audited=AuditedRequest(scope))
        await self._app(scope, receive, send)

    async def _session(self, secret: str) -> TenantSession:
        holder = await self._database.one("api_keys.holder", hash=keys.digest(secret))
        if holder is None:
            raise Unauthenticated([Problem("Authorization", f"a key {_beginning(secret)}", "a key that is in use")])
        return TenantSession(holder["tenant_id"], holder["id"], holder["name"], holder["scopes"], holder["operator"],
                             self._database)

    async def _note_use(self, session: TenantSession) -> None:
        now = time.monotonic()
        if now - self._noted.get(session.key_id, -USE_NOTED_S) < USE_NOTED_S:
            return
        self._noted[session.key_id] = now
        async with session.transaction() as transaction:
            await transaction.run("api_keys.note_use", id=session.key_id, every_s=USE_NOTED_S)


def _secret(headers: Headers) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    secret = headers.get("x-api-key", "") or (token.strip() if scheme.lower() == "bearer" else "")
    if not secret:
        raise Unauthenticated([Problem("Authorization", "no key", f"Bearer {keys.PREFIX}…")])
    return secret


def _beginning(secret: str) -> str:
    return f"beginning with {keys.PREFIX}" if secret.startswith(keys.PREFIX) else f"not beginning with {keys.PREFIX}"
