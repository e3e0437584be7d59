"""A worker killed at any named point costs time, nothing else."""

import asyncio
from pathlib import Path

import pytest

from hone.crashpoints import POINTS
from hone.spec.settings import Settings
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.processes import WorkerProcess
from tests.integration.rollout.rows import Run, every, one

GENERATED = {"claim.after": 1, "call-journal": 2, "journal.after": 1, "part.object-row": 1, "ready.after": 1}
"""How often the policy answers a group whose first worker dies at each point."""


def test_every_named_point_has_its_expectation() -> None:
    assert set(GENERATED) == set(POINTS["rollout"])


@pytest.mark.parametrize("point", GENERATED)
async def test_a_worker_killed_at_a_named_point(
        point: str, run: Run, peers: Peers, settings: Settings, tmp_path: Path) -> None:
    crash = tmp_path / "crash"
    crash.mkdir()
    (crash / point).touch()
    run.request(1, n=3)
    killed = await WorkerProcess.start(settings, tmp_path, HONE_CRASH_DIR=str(crash))
    assert await asyncio.wait_for(killed.process.wait(), 60) == -9
    successor = await WorkerProcess.start(settings, tmp_path)
    try:
        async with asyncio.timeout(60):
            while run.states() != ["ready"]:
                await asyncio.sleep(0.05)
    finally:
        successor.kill()
    assert len(peers.inference.requests) == GENERATED[point]
    [group] = run.groups()
    assert group["attempt"] == (1 if point == "ready.after" else 2)
    rows = every(run.url, "SELECT index, part FROM trajectories WHERE run_id = %(id)s ORDER BY index", id=run.run_id)
    assert [(row["index"], row["part"]) for row in rows] == [(index, group["parts"][0]) for index in range(3)]
    assert len(group["parts"]) == 1
    assert one(run.url, "SELECT count(*) AS n FROM journal")["n"] == 0
    usage = one(run.url, "SELECT sum(amount) AS n FROM usage WHERE run_id = %(id)s AND kind = 'completion_tokens'",
                id=run.run_id)
    assert usage["n"] == 3 * 7
