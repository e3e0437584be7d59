"""`Idempotency-Key`: a repeated request gets the stored answer, and the work is not done again.

The answer is stored in the transaction that does the work, so neither exists without the other.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Header, Request
from psycopg.types.json import Jsonb
from starlette.responses import JSONResponse

from hone.spec.problems import Problem
from hone.store.database import AsyncTransaction, Row
from services.gateway.middleware.errors import Unusable
from services.gateway.middleware.tenancy import TenantSession

Key = Annotated[str | None, Header(
    alias="Idempotency-Key", min_length=1, max_length=255, pattern=r"^[\x20-\x7e]+$",
    description="A repeated request with the same key and body gets the stored answer; nothing is done a second time.")]


@dataclass(frozen=True)
class JsonAnswer:
    """A response's status and JSON body."""

    status: int
    body: dict[str, Any]

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, self.status)


def fingerprint(request: Request, content: Any) -> bytes:
    """Return a digest of method, path, query and content: equal for two requests that ask for the same."""
    identity = [request.method, request.url.path, request.url.query, content]
    return hashlib.sha256(json.dumps(identity, sort_keys=True, separators=(",", ":")).encode()).digest()


async def once(
    session: TenantSession, transaction: AsyncTransaction, key: str | None, request_sha: bytes,
    work: Callable[[], Awaitable[JsonAnswer]],
) -> JsonAnswer:
    """Do the work and store its answer, or return the answer that is already stored under the key.

    A second request with the same key waits until the transaction of the first has ended. Refusals are not stored.
    Raises Unusable when an earlier request used the key with other content.
    """
    if key is None:
        return await work()
    if not await transaction.run(
            "idempotency_keys.claim", tenant_id=session.tenant_id, key=key, request_sha=request_sha):
        return _answer(key, request_sha, await transaction.one("idempotency_keys.answer", key=key))
    answer = await work()
    await transaction.run("idempotency_keys.set_answer", key=key, status=answer.status, response=Jsonb(answer.body))
    return _answer(key, request_sha, await transaction.one("idempotency_keys.answer", key=key))


async def stored(session: TenantSession, key: str | None, request_sha: bytes) -> JsonAnswer | None:
    """Return the answer that is stored under the key, or None. For callers whose work begins before the transaction.

    Raises Unusable when an earlier request used the key with other content.
    """
    if key is None:
        return None
    async with session.transaction() as transaction:
        row = await transaction.one("idempotency_keys.answer", key=key)
    return None if row is None else _answer(key, request_sha, row)


def _answer(key: str, request_sha: bytes, row: Row | None) -> JsonAnswer:
    if row is None or row["request_sha"] != request_sha:
        raise Unusable(problems=[Problem(
            "Idempotency-Key", f"{key!r}, which an earlier request used with other content",
            "a new key for each request")])
    return JsonAnswer(row["status"], row["response"])
