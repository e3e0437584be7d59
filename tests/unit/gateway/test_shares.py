"""A tenant has so many requests open at a time; a reader that never reads takes a place of its own tenant alone."""

import asyncio
from typing import Any, cast

import pytest
from starlette.types import Receive, Scope, Send

from hone.store.database import AsyncDatabase
from services.gateway.middleware.errors import TooMany
from services.gateway.middleware.shares import TenantShare
from services.gateway.middleware.tenancy import TenantSession


def scope(tenant_id: str | None) -> Scope:
    session = TenantSession(tenant_id, "key", "k", ["read"], False, cast(AsyncDatabase, None)) if tenant_id else None
    return {"type": "http", "state": {"session": session}}


async def test_a_tenant_that_keeps_its_requests_open_keeps_no_other_tenant_from_the_gateway() -> None:
    leave = asyncio.Event()

    async def stream(_: Scope, __: Receive, ___: Send) -> None:
        await leave.wait()

    share = TenantShare(stream, most=2)
    unused = cast(Any, None)

    def asked(tenant_id: str | None) -> asyncio.Task[None]:
        return asyncio.create_task(share(scope(tenant_id), unused, unused))

    held = [asked("one"), asked("one")]
    await asyncio.sleep(0)
    with pytest.raises(TooMany, match=r"2 requests open at this gateway \(HONE_TENANT_REQUESTS\)") as refused:
        await share(scope("one"), unused, unused)
    assert refused.value.headers == {"Retry-After": "1"}
    held += [asked("two"), asked(None)]  # another tenant, and a path that needs no key
    await asyncio.sleep(0)
    assert not any(one.done() for one in held)
    held[0].cancel()
    await asyncio.sleep(0)
    again = asked("one")
    await asyncio.sleep(0)
    assert not again.done(), "the place of a reader that left is free"
    leave.set()
    await asyncio.gather(*held, again, return_exceptions=True)
    await share(scope("one"), unused, unused)
