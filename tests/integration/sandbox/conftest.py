"""The sandbox as its own process, at each level that isolates."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hone.api.sandbox_pb2_grpc import SandboxServiceStub
from hone.sandbox import client
from hone.sandbox.program import Program, Ran
from services.sandbox.levels import STRONG, Level
from services.sandbox.pool import usable
from tests.servers.service import Service, running

Run = Callable[[Program], Ran]


def absent(level: Level) -> str | None:
    """Return why a level cannot be tested on this machine, None if it can."""
    found, reasons = asyncio.run(usable([level], []))
    return None if found else f"isolation {'; '.join(reasons)}"


def runner(service: Service, deadline_s: float = 30.0) -> Run:
    """Return a function that runs a program and waits for its end."""
    stub: Any = SandboxServiceStub(service.channel)
    return lambda program: client.ran(stub.Run(client.request(program), timeout=deadline_s))


@pytest.fixture(scope="session", params=STRONG)
def service(request: pytest.FixtureRequest, need: Callable[[str | None], None]) -> Iterator[Service]:
    """A sandbox of two places."""
    need(absent(request.param))
    with running("sandbox", HONE_SANDBOX_ISOLATION=request.param, HONE_SANDBOX_PLACES="2") as one:
        yield one


@pytest.fixture(scope="session")
def run(service: Service) -> Run:
    return runner(service)
