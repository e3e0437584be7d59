"""The ingest benchmark on a small scale: both sides write what they say they write."""

from pathlib import Path

import psycopg

from benchmarks import ingest
from benchmarks.ingest_writers import SAMPLES, Target
from hone.store import objects
from hone.trajectory import parts

GROUPS, WRITERS = 40, 2


def test_both_sides_write_the_same_rows_and_files(postgres_owner_url: str, tmp_path: Path) -> None:
    target = Target(postgres_owner_url, f"file://{tmp_path}")
    found = ingest.measured(target, GROUPS, repetitions=1, writers=WRITERS)
    assert set(found["groups_per_s"]) == set(ingest.SIDES)
    assert all(rate > 0 for rate in found["groups_per_s"].values())
    with psycopg.connect(postgres_owner_url) as connection:
        [newest] = connection.execute("SELECT max(id) FROM runs").fetchall()
        ours, raw = (connection.execute(
            f"SELECT t.group_id, t.index, t.row, t.score, g.state FROM {kind}trajectories t JOIN {kind}groups g"
            " ON g.id = t.group_id WHERE t.run_id = %s ORDER BY 1, 2".encode(), newest).fetchall()
            for kind in ("", "raw_"))
        journals = connection.execute(
            "SELECT (SELECT count(*) FROM journal), (SELECT count(*) FROM raw_journal)").fetchone()
    assert ours == raw
    assert len(ours) == GROUPS * WRITERS * SAMPLES
    assert journals == (0, 0)
    store = objects.connect(target.objects_url)
    written = sorted(store.get(key) for key in store.list(f"runs/{newest[0]}/"))
    assert set(written) <= {store.get(key) for key in store.list("raw/")}
    assert sum(len(parts.decode(file)) for file in written) == len(ours)
