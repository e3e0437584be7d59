"""A worker that is killed at a crash point costs time and nothing else."""

import asyncio
from pathlib import Path

import pytest

from hone.crashpoints import POINTS
from hone.spec.settings import Settings
from hone.store import objects
from hone.store.database import Database
from hone.trajectory import parts
from services.learner.driver.orphans import Orphans
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.processes import WorkerProcess
from tests.integration.rollout.rows import Run, every, one

GENERATED = {"claim.after": 1, "call-journal": 2, "journal.after": 1, "part.object-row": 1, "ready.after": 1}
"""By crash point: how often the policy answers a group whose first worker dies there."""


async def killed_and_succeeded(point: str, run: Run, settings: Settings, folder: Path) -> None:
    """Kill a worker at a crash point, and let another worker make the group ready."""
    crash = folder / "crash"
    crash.mkdir()
    (crash / point).touch()
    killed = await WorkerProcess.start(settings, folder, HONE_CRASH_DIR=str(crash))
    assert await killed.ended(60) == -9
    successor = await WorkerProcess.start(settings, folder)
    try:
        async with asyncio.timeout(60):
            while run.states() != ["ready"]:
                await asyncio.sleep(0.05)
    finally:
        successor.kill()


def test_every_named_point_has_its_expectation() -> None:
    assert set(GENERATED) == set(POINTS["rollout"])


@pytest.mark.parametrize("point", GENERATED)
async def test_a_worker_killed_at_a_named_point(
        point: str, run: Run, peers: Peers, settings: Settings, tmp_path: Path) -> None:
    run.request(1, n=3)
    await killed_and_succeeded(point, run, settings, tmp_path)
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


@pytest.mark.usefixtures("peers")
async def test_a_killed_claimants_part_is_collected_and_its_successors_stays(
        run: Run, settings: Settings, tmp_path: Path) -> None:
    store, database = objects.connect(settings.objects_url), Database(run.url)
    run.request(1, n=3)
    await killed_and_succeeded("part.object-row", run, settings, tmp_path)
    [part] = run.groups()[0]["parts"]
    before = list(store.list(""))
    [orphan] = [key for key in store.list(f"runs/{run.run_id}/parts/") if key != part]
    orphans = Orphans(database, store, grace_s=1.0, pause_s=1e-6)
    assert orphans.sweep() == 0
    assert len(parts.decode(store.get(orphan))) == 3
    await asyncio.sleep(1.1)
    assert orphans.sweep() == 1
    database.close()
    assert [key for key in store.list("") if not key.startswith("sweeps/")] == [key for key in before if key != orphan]
    assert [one.index for one in parts.decode(store.get(part))] == [0, 1, 2]
