"""`HONE_SINKS` in a stack: one more process, which may be killed like any other."""

from pathlib import Path

import psycopg
import pytest

from hone.stack.embedded import Stack
from hone.stack.processes import KINDS
from hone.store.database import Database
from tests.acceptance.scene import wait_for
from tests.integration.learner.rows import RunRows, add_run

pytest.importorskip("tensorboard", reason="tensorboard is not installed (pip install -e .[tensorboard])")

from services.sinks.tensorboard import written

ALONE = {kind: 0 for kind in KINDS if kind != "sinks"}


def record(url: str, run: RunRows, step: int) -> None:
    database = Database(url, size=1)
    database.run("metrics.record", run_id=run.run_id, tenant_id=run.tenant_id, step=step, names=["loss"],
                 values=[1.0 / step])
    database.close()


def test_metrics_reach_the_files_through_a_kill_and_are_owed_to_nobody_without_the_setting(
    shared_directory: Path, tmp_path: Path
) -> None:
    settings = {"sinks": f"tensorboard://{tmp_path}/tb", "sweep_s": 0.3}
    with Stack(shared_directory / "sinks", settings=settings, counts=ALONE) as stack:
        stack.wait_ready(60)
        url = stack.record().database_url
        run = add_run(url)
        record(url, run, 1)
        files = tmp_path / "tb" / f"test-{run.run_id}"
        wait_for("the first point", lambda: written(files) == {("loss", 1)}, 120)
        stack.kill("sinks-0")
        record(url, run, 2)
        wait_for("the point after the kill", lambda: written(files) == {("loss", 1), ("loss", 2)}, 120)
    with Stack(shared_directory / "sinks", counts=ALONE) as stack:
        stack.wait_ready(60)
        assert "sinks-0" not in stack.pids()
        record(stack.record().database_url, run, 3)
        with psycopg.connect(stack.record().database_url) as connection:
            assert connection.execute("SELECT count(*) FROM unsent_points").fetchone() == (0,)
