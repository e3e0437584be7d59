"""A database that dies in the middle of a wave: the worker waits, and does nothing twice."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hone.stack import ports
from hone.stack.postgres import as_account, unprivileged
from tests.integration.rollout.conftest import Open
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run
from tests.servers import postgres as postgres_servers


@pytest.fixture(scope="module")
def own_server(shared_directory: Path) -> Iterator[postgres_servers.Server]:
    """A server of its own, so that it can be killed."""
    home = shared_directory / "outage"
    home.mkdir(mode=0o711)
    with postgres_servers.running(home) as server:
        yield server


@pytest.fixture(scope="module")
def postgres(own_server: postgres_servers.Server) -> postgres_servers.TestDatabase:
    return own_server.database("outage")


def start(server: postgres_servers.Server) -> None:
    server.children.start("postgres", server.cluster.command(fsync="off"), cwd="/", **as_account(unprivileged()))
    server.children.wait("postgres", lambda: ports.answers(f"127.0.0.1:{server.cluster.port}"), timeout_s=120)


@pytest.mark.parametrize("stage", ["inference", "reward"])
async def test_a_wave_outlives_its_database(
        run: Run, peers: Peers, open_worker: Open, own_server: postgres_servers.Server, stage: str) -> None:
    gate = getattr(peers, stage)
    gate.open.clear()
    run.request(2, n=3)
    work = asyncio.create_task((await open_worker(lease_s=60)).work())
    while not gate.requests:
        await asyncio.sleep(0.02)
    own_server.children.stop("postgres", signal.SIGQUIT)
    gate.open.set()
    await asyncio.sleep(1)  # answers arrive while no database can store them
    start(own_server)
    await asyncio.wait_for(work, 60)
    assert run.states() == ["ready", "ready"]
    assert len(peers.inference.requests) == 2
