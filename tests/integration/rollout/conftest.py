"""A worker in this process, with stand-ins for the services that it calls. No test leaves a group open."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from hone.spec.settings import Settings
from hone.store import objects
from services.rollout.worker import Worker
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run, add_run, register_engine

Open = Callable[..., Awaitable[Worker]]


@pytest_asyncio.fixture
async def peers() -> AsyncIterator[Peers]:
    """Inference, simulation and reward on one port."""
    found = Peers()
    await found.start()
    yield found
    await found.stop()


@pytest.fixture
def settings(postgres_url: str, peers: Peers, tmp_path: Path) -> Settings:
    return Settings.model_validate({
        "database_url": postgres_url, "objects_url": f"file://{tmp_path}/objects", "process_name": "rollout-0",
        "broker_url": f"filesystem://{tmp_path}/broker",
        "addresses": {"simulation": peers.address, "reward": peers.address}, "sweep_s": 0.2, "claim_groups": 8})


@pytest.fixture
def run(postgres_owner_url: str, settings: Settings, peers: Peers) -> Iterator[Run]:
    """A run whose model the stand-in engine serves."""
    register_engine(postgres_owner_url, "engine-0", peers.address, age_s=-3600)
    yield add_run(postgres_owner_url, objects.connect(settings.objects_url))
    with psycopg.connect(postgres_owner_url) as connection:
        connection.execute("UPDATE groups SET state = 'dropped', reason = 'cancelled' WHERE state = 'requested'")
        connection.execute("DELETE FROM engines")


@pytest_asyncio.fixture
async def open_worker(settings: Settings) -> AsyncIterator[Open]:
    """Opens workers with changed settings, and closes them at the end."""
    opened: list[Worker] = []

    async def opens(**changes: Any) -> Worker:
        opened.append(await Worker.open(settings.model_copy(update=changes)))
        return opened[-1]

    yield opens
    for worker in opened:
        await worker.close()
