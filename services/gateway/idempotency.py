"""`Idempotency-Key`: the answer is stored in the transaction that does the work, so doing both twice is impossible."""

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
from services.gateway.errors import Unusable
from services.gateway.tenancy import Session

Key = Annotated[str | None, Header(
    alias="Idempotency-Key", min_length=1, max_length=255, pattern=r"^[\x20-\x7e]+$",
    description="Same key and same body: the stored answer again, and nothing happens a second time.")]


@dataclass(frozen=True)
class Answer:
    """A response's status and JSON body."""

    status: int
    body: dict[str, Any]

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, self.status)


def fingerprint(request: Request, content: Any) -> bytes:
    """Return what must be equal for two requests to be the same one: method, path, query and content."""
    said = [request.method, request.url.path, request.url.query, content]
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).digest()


async def once(
    session: Session, transaction: AsyncTransaction, key: str | None, request_sha: bytes,
    work: Callable[[], Awaitable[Answer]],
) -> Answer:
    """Do the work and store its answer, or return the answer that is stored under the key.

    A second request with the same key waits until the first one's transaction has ended. Refusals are not stored.
    Raises Unusable when the key came with other content.
    """
    if key is None:
        return await work()
    if not await transaction.run(
            "gateway.claim_key", tenant_id=session.tenant_id, key=key, request_sha=request_sha):
        return _answer(key, request_sha, await transaction.one("gateway.stored_answer", key=key))
    answer = await work()
    await transaction.run("gateway.keep_answer", key=key, status=answer.status, response=Jsonb(answer.body))
    return _answer(key, request_sha, await transaction.one("gateway.stored_answer", key=key))


async def stored(session: Session, key: str | None, request_sha: bytes) -> Answer | None:
    """Return the answer that is stored under the key, None without any: asked before work that `once` cannot hold.

    Raises Unusable when the key came with other content.
    """
    if key is None:
        return None
    async with session.transaction() as transaction:
        row = await transaction.one("gateway.stored_answer", key=key)
    return None if row is None else _answer(key, request_sha, row)


def _answer(key: str, request_sha: bytes, row: Row | None) -> Answer:
    if row is None or row["request_sha"] != request_sha:
        raise Unusable(problems=[Problem(
            "Idempotency-Key", f"{key!r}, which another request came with", "a key of its own for each request")])
    return Answer(row["status"], row["response"])
