"""However many streams of events a tenant opens, they ask the database equally often together."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from hone.store.database import AsyncDatabase
from services.gateway.middleware.tenancy import TenantSession
from services.gateway.routes import events


async def test_many_streams_look_more_seldom_and_those_of_another_tenant_do_not(
        monkeypatch: pytest.MonkeyPatch) -> None:
    async def some(*_: Any) -> AsyncIterator[str]:
        yield "one"
        yield "two"

    monkeypatch.setattr(events, "_events", some)
    session = TenantSession("many", "key", "k", ["read"], False, cast(AsyncDatabase, None))
    opened = [events._stream(session, "run_1", 0, 0.5) for _ in range(64)]
    for place, stream in enumerate(opened, 1):
        assert await anext(stream) == "one"
        assert events.pause_s("many", 0.5) == 0.5 * max(1, place / 8)
    assert events.pause_s("few", 0.5) == 0.5
    for stream in opened:
        await cast(Any, stream).aclose()
    assert events.pause_s("many", 0.5) == 0.5
