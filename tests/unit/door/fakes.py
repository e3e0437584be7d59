"""What stands for the database and the services behind a door."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import grpc

from hone import keys
from hone.rpc.border import ReadRequests, RichErrors
from services.door.audit import Audit
from services.door.backends import Backends
from services.door.call import METHODS, Call
from services.door.forwarding import Door, Stations
from services.door.keys import KeyHolders
from services.door.quotas import Quotas
from services.door.running import RunningCalls

SCOPES: dict[str, list[str]] = {"tml-admin": ["admin"], "tml-run": ["run"], "tml-read": ["read"], "tml-none": []}
UNLIMITED: dict[str, Any] = {
    "suspended": False, "currency": "EUR", "budget": None, "cost": None, "month_budget": None, "month_cost": None,
    "max_tokens_a_day": None, "tokens_a_day": None, "max_stored_bytes": None, "stored_bytes": None}


class Rows:
    """A database with keys of tenant_1, and tml-other of tenant_2. It keeps what is written."""

    def __init__(self) -> None:
        self.held = {**SCOPES, "tml-other": ["admin"]}
        self.limits: dict[str, Any] = dict(UNLIMITED)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def done(self, statement: str) -> list[dict[str, Any]]:
        """Return the parameters of each call of a statement."""
        return [given for name, given in self.asked if name == statement]

    async def one(self, name: str, **given: Any) -> dict[str, Any] | None:
        self.asked.append((name, given))
        if name == "api_keys.holder":
            return self._holder(given["hash"])
        of_run = {figure: self.limits[figure] for figure in ("budget", "cost")}
        of_tenant = {figure: value for figure, value in self.limits.items() if figure not in of_run}
        return {"tenants.limits": of_tenant, "runs.limits": of_run, "runs.billed": {"id": "run_1"}}.get(name)

    async def all(self, name: str, **given: Any) -> list[dict[str, Any]]:
        self.asked.append((name, given))
        return [{"hash": one} for one in given["hashes"] if self._holder(one)]

    async def run(self, name: str, **given: Any) -> int:
        self.asked.append((name, given))
        return 1

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["Rows"]:
        yield self

    def _holder(self, hashed: bytes) -> dict[str, Any] | None:
        for secret, scopes in self.held.items():
            if keys.digest(secret) == hashed:
                return {"id": "key_1", "tenant_id": "tenant_2" if secret == "tml-other" else "tenant_1",
                        "scopes": scopes}
        return None


class Echo:
    """Services that keep the calls they get. A call with the metadata `wait` ends when its caller leaves."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.ended = asyncio.Event()
        self.error: Exception | None = None

    async def answer(self, call: Call) -> bytes:
        self.calls.append(call)
        if self.error is not None:
            raise self.error
        async with self._waits(call):
            return b"answer"

    async def stream(self, call: Call) -> AsyncGenerator[bytes, None]:
        self.calls.append(call)
        async with self._waits(call):
            yield b"answer"

    @asynccontextmanager
    async def _waits(self, call: Call) -> AsyncIterator[None]:
        waits = ("wait", "1") in call.metadata
        try:
            yield
            if waits:
                await asyncio.sleep(60)
        finally:
            if waits:
                self.ended.set()


@asynccontextmanager
async def door(rows: Rows, echo: Echo, most: int = 100) -> AsyncIterator[tuple[grpc.aio.Channel, RunningCalls]]:
    """Serve a door without TLS."""
    database = cast(Any, rows)
    running = RunningCalls(database, most, 2**20)
    passed = Door(Stations(KeyHolders(database), running, Quotas(database), cast(Backends, echo), Audit(database)))
    serving = grpc.aio.server(interceptors=[passed, RichErrors(), ReadRequests()])
    port = serving.add_insecure_port("127.0.0.1:0")
    await serving.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as opened:
        yield opened, running
    await serving.stop(0)


async def ended(
    opened: Any, method: str, raw: bytes, *metadata: tuple[str, str]
) -> tuple[grpc.StatusCode, list[bytes], str]:
    """Make a call of bytes and return its status, its answers and its message."""
    answers: list[bytes] = []
    try:
        if METHODS[method].server_streaming:
            async for answer in opened.unary_stream(method)(raw, metadata=metadata, timeout=60):
                answers.append(answer)
        else:
            answers.append(await opened.unary_unary(method)(raw, metadata=metadata, timeout=60))
    except grpc.aio.AioRpcError as error:
        return error.code(), answers, error.details() or ""
    return grpc.StatusCode.OK, answers, ""
