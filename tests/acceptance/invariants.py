"""Checks of a finished run that hold whatever happened to it. They read rows: promise 1."""

from collections import Counter
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

from hone.store import objects
from tests.acceptance.scene import Scene, wait_for

WRITTEN = ("artifacts/", "models/", "runs/")


def check(scene: Scene, run_id: str, steps: int, prompts: int) -> None:
    """Raise AssertionError unless each group ended once and each step is an ancestor of the last version."""
    assert scene.rows(
        "SELECT id, state FROM groups WHERE run_id = %s AND state NOT IN ('used', 'dropped')", run_id) == []
    states = {row["state"]: row["count"] for row in scene.rows(
        "SELECT state, count(*) FROM groups WHERE run_id = %s AND purpose = 'train' GROUP BY state", run_id)}
    requested = scene.one("SELECT count(*) FROM groups WHERE run_id = %s AND purpose = 'train'", run_id)
    assert sum(states.values()) == requested
    assert states.get("used") == steps * prompts, states
    assert scene.rows("SELECT id FROM groups WHERE run_id = %s AND ready_attempt IS DISTINCT FROM attempt "
                      "AND state = 'used'", run_id) == [], "a stale claimant made a group ready"
    _check_steps(scene, run_id, steps)
    _check_samples(scene, run_id)


def _check_steps(scene: Scene, run_id: str, steps: int) -> None:
    committed = scene.rows("SELECT n, group_ids, version_id FROM steps WHERE run_id = %s AND state = 'committed' "
                           "ORDER BY n", run_id)
    assert [row["n"] for row in committed] == list(range(1, steps + 1))
    trained = [group for row in committed for group in row["group_ids"]]
    used = {row["id"] for row in scene.rows(
        "SELECT id FROM groups WHERE run_id = %s AND purpose = 'train' AND state = 'used'", run_id)}
    assert len(trained) == len(set(trained)), "a group was trained twice"
    assert set(trained) == used
    ancestry = scene.rows(
        "WITH RECURSIVE line AS (SELECT v.* FROM versions v WHERE v.id = %s "
        "UNION ALL SELECT p.* FROM versions p JOIN line c ON p.id = c.parent_id) SELECT id FROM line",
        committed[-1]["version_id"])
    assert {row["version_id"] for row in committed} <= {row["id"] for row in ancestry}


def _check_samples(scene: Scene, run_id: str) -> None:
    assert scene.one("SELECT count(*) FROM journal j JOIN groups g ON g.id = j.group_id WHERE g.run_id = %s",
                     run_id) == 0
    assert scene.rows(
        "SELECT g.id FROM groups g LEFT JOIN trajectories t ON t.group_id = g.id WHERE g.run_id = %s "
        "AND g.state = 'used' GROUP BY g.id HAVING count(t.*) <> (g.\"order\" ->> 'n')::int "
        "+ coalesce((SELECT sum(size) FROM unnest(g.waves) AS size), 0)", run_id) == []
    assert scene.rows(
        "SELECT t.group_id, t.index FROM trajectories t LEFT JOIN (SELECT * FROM grades WHERE component = '' AND "
        "level = 'trajectory' AND regrade_no = 0) r USING (group_id, index) WHERE t.run_id = %s "
        "GROUP BY t.group_id, t.index HAVING count(r.*) <> 1", run_id) == []


def check_store(scene: Scene, timeout_s: float) -> None:
    """Raise AssertionError unless the object store comes to hold exactly the objects that rows name.

    Removed weights of old versions do not count.
    """
    store = objects.connect(scene.stack.record().objects_url)

    def stored() -> set[str]:
        return {key for prefix in WRITTEN for key in store.list(prefix)}

    def named() -> set[str]:
        return {row["key"] for row in scene.rows(
            "SELECT DISTINCT key FROM named_keys((SELECT array_agg(id) FROM (SELECT id FROM runs UNION "
            "SELECT id FROM models UNION SELECT id FROM artifacts) AS every)) AS key")}

    wait_for("the store to hold the objects that rows name, and no others", lambda: not stored() ^ named(), timeout_s)


def check_sink(scene: Scene, directory: Path, run_id: str) -> None:
    """Raise AssertionError unless TensorBoard's files come to hold each point of the run's metrics once."""
    wait_for("every metric to be sent", lambda: not scene.rows(
        "SELECT FROM unsent_points WHERE run_id = %s LIMIT 1", run_id), 30)
    files = sorted(directory.glob(f"*-{run_id}/events.out.tfevents.*"))
    events = (event for file in files for event in LegacyEventFileLoader(str(file)).Load())
    found = Counter((value.tag, event.step) for event in events for value in event.summary.value)
    rows = scene.rows("SELECT name, step FROM metrics WHERE run_id = %s", run_id)
    assert found == Counter((row["name"], row["step"]) for row in rows)
