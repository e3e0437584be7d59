"""DELETE of runs, models, datasets, exports and checkpoints: the rules, and who may."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection

from hone.client import Client, errors
from hone.store.database import Database
from services.learner.driver.deletions import Deletions
from services.learner.driver.orphans import Orphans
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase
from tests.support.learner import deleting


@pytest.fixture
def ended(hone: Client, base: str, postgres: TestDatabase, gateway: Gateway) -> Seeded:
    """A run with samples and versions that has succeeded."""
    made = seed.history(postgres.owner_url, gateway.objects, hone.create_run(seed.spec(base)))
    end(postgres, made.run.id)
    return made


def end(postgres: TestDatabase, run_id: str, state: str = "succeeded") -> None:
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute("UPDATE runs SET state = %s, ended_at = now() WHERE id = %s", [state, run_id])


@pytest.fixture
def driver(postgres: TestDatabase, gateway: Gateway) -> Callable[[], None]:
    """Removes everything that is marked, as a driver does."""
    def work() -> None:
        database = Database(postgres.worker_url, size=2)
        while deleting.work(database, Deletions(database, gateway.objects, 0.0)):
            pass
        database.close()

    return work


def test_a_run_goes_and_its_usage_stays(hone: Client, ended: Seeded, driver: Callable[[], None]) -> None:
    run = ended.run.id
    deletion = hone.delete_run(run)
    assert (deletion.id, deletion.kind, deletion.name, deletion.state) == (run, "run", "sort", "deleting")
    assert run not in {one.id for one in hone.runs(limit=500).data}
    assert hone.run(run).state == "deleting"
    for refused in (hone.pause, hone.cancel):
        with pytest.raises(errors.Conflict, match="deleting"):
            refused(run)
    with pytest.raises(errors.NotFound):
        hone.create_export(run)
    driver()
    assert hone.delete_run(run).state == "deleted", "again changes nothing"
    assert hone.deletion(run).finished_at is not None
    with pytest.raises(errors.NotFound):
        hone.run(run)
    (used,) = hone.usage(run_id=run).data
    assert (used.name, used.amounts["completion_tokens"]) == ("sort", 300.0)


def test_samples_go_and_their_run_stays(
    hone: Client, base: str, ended: Seeded, driver: Callable[[], None],
) -> None:
    run = ended.run.id
    with pytest.raises(errors.Conflict, match="may need its samples"):
        hone.delete_samples(hone.create_run(seed.spec(base)).id)
    before = {one.kind: one for one in hone.retention()}
    assert (before["runs"].items > 0, before["runs"].setting) == (True, "HONE_KEEP_RUNS_D")
    assert (before["preflights"].kept, before["uploads"].kept) == ("7 days", "1 day after its last part")
    assert hone.delete_samples(run).kind == "samples"
    driver()
    assert hone.delete_samples(run).state == "deleted", "again changes nothing"
    assert hone.trajectories(run).data == []
    assert hone.run(run).state == "succeeded"
    assert len(hone.checkpoints(run).data) == 3
    assert hone.delete_run(run).state == "deleting"
    driver()
    with pytest.raises(errors.NotFound):
        hone.delete_samples(run + "x")


def test_an_open_run_is_cancelled_first(
    hone: Client, base: str, postgres: TestDatabase, driver: Callable[[], None],
) -> None:
    run = hone.create_run(seed.spec(base)).id
    with pytest.raises(errors.Conflict, match="Cancel it first, or delete it with force"):
        hone.delete_run(run)
    assert hone.run(run).state == "queued"
    assert hone.delete_run(run, force=True).waits_for == "the run to end"
    driver()
    assert hone.run(run).desired == "cancel", "a driver has to end it"
    end(postgres, run, "cancelled")
    driver()
    assert hone.deletion(run).state == "deleted"


def test_what_an_open_run_uses_is_refused_with_its_name(
    hone: Client, toy_directory: Path, postgres: TestDatabase, gateway: Gateway, driver: Callable[[], None],
) -> None:
    model = hone.register_model("used", toy_directory)
    data = hone.upload_dataset("used-rows", b'{"prompt": "a", "completion": "b"}\n')
    spec = {"name": "user", "model": {"base": "used"}, "task": {"dataset": "used-rows"}, "algorithm": "sft", "steps": 2}
    run = hone.create_run(spec)
    for delete, name in ((hone.delete_model, "used"), (hone.delete_model, model.id), (hone.delete_dataset, "used-rows"),
                         (hone.delete_dataset, data.id)):
        with pytest.raises(errors.Conflict, match=f"is in use by {run.id} \\(user\\)"):
            delete(name)
    seed.history(postgres.owner_url, gateway.objects, run)
    end(postgres, run.id)
    child = hone.create_run({**seed.spec(run.id), "name": "child"})
    with pytest.raises(errors.Conflict, match=f"is in use by {child.id}"):
        hone.delete_run(run.id)
    end(postgres, child.id)
    assert hone.delete_dataset("used-rows").kind == "dataset"
    assert hone.delete_model("used").waits_for == (
        "the end of 1 models that started from it: delete their runs")
    again = hone.register_model("used", toy_directory)
    assert (again.id != model.id, hone.model("used").id) == (True, again.id), "its name is free"
    for gone in (run.id, child.id):
        hone.delete_run(gone)
    driver()
    assert {hone.deletion(one).state for one in (model.id, data.id, run.id, child.id)} == {"deleted"}
    assert hone.delete_model(model.id).state == "deleted"
    assert hone.model("used").id == again.id
    assert "used-rows" not in {one.name for one in hone.datasets(limit=500).data}


def test_exports_and_checkpoints(
    hone: Client, ended: Seeded, postgres: TestDatabase, driver: Callable[[], None],
) -> None:
    run, (first, middle, last) = ended.run.id, ended.versions
    export = hone.create_export(run, last)
    with pytest.raises(errors.Conflict, match="1 exports wait for it"):
        hone.delete_checkpoint(run, last)
    hone.delete_export(export.id)
    assert hone.exports(run).data == []
    with pytest.raises(errors.NotFound):
        hone.export(export.id)
    assert hone.create_export(run, last).id != export.id
    child = hone.create_run(seed.spec(middle))
    end(postgres, child.id)
    with pytest.raises(errors.Conflict, match=f"in use by {child.id}"):
        hone.delete_checkpoint(run, middle)
    hone.delete_checkpoint(run, first)
    driver()
    assert hone.delete_checkpoint(run, first).state == "deleted"
    assert [one.stored for one in hone.checkpoints(run).data] == [True, True, False]
    with pytest.raises(errors.Refused):
        hone.create_run(seed.spec(first))


def test_the_first_and_the_last_version_of_an_open_run_stay(
    hone: Client, base: str, postgres: TestDatabase, gateway: Gateway,
) -> None:
    made = seed.history(postgres.owner_url, gateway.objects, hone.create_run(seed.spec(base)))
    for needed in (made.versions[0], made.versions[-1]):
        with pytest.raises(errors.Conflict, match="needs its first and last version"):
            hone.delete_checkpoint(made.run.id, needed)
    assert hone.delete_checkpoint(made.run.id, made.versions[1]).kind == "checkpoint"


def test_storage_is_reported_by_run_and_model(
    hone: Client, other: Client, ended: Seeded, base: str, postgres: TestDatabase, gateway: Gateway,
) -> None:
    database = Database(postgres.worker_url, size=2)
    Orphans(database, gateway.objects, grace_s=3600, pause_s=0.1).sweep()
    database.close()
    found = {item.id: item for item in hone.storage().items}
    model, run = hone.model(base), hone.run(ended.run.id)
    assert (found[model.id].bytes, found[model.id].kind) == (model.bytes, "model")
    assert model.bytes == sum(file.bytes for file in model.files.values())
    assert (found[run.id].bytes, found[run.id].objects) == (run.bytes, 1)
    assert next(one for one in hone.runs(limit=500).data if one.id == run.id).bytes == run.bytes
    assert hone.storage().bytes == sum(item.bytes for item in found.values())
    assert (other.storage().bytes, other.storage().items) == (0, [])


DELETES: list[Callable[[Client, Seeded], Any]] = [
    lambda hone, seeded: hone.delete_run(seeded.run.id, force=True),
    lambda hone, seeded: hone.delete_checkpoint(seeded.run.id, seeded.versions[1]),
    lambda hone, seeded: hone.delete_model(seeded.run.spec["model"]["base"]),
    lambda hone, _: hone.delete_dataset("no-such-rows"),
    lambda hone, _: hone.delete_export("op_nothing"),
    lambda hone, seeded: hone.deletion(seeded.run.id),
]


@pytest.mark.parametrize("call", DELETES, ids=range(len(DELETES)))
def test_nobody_deletes_what_belongs_to_another(
    hone: Client, other: Client, ended: Seeded, call: Callable[[Client, Seeded], Any],
) -> None:
    with pytest.raises(errors.NotFound, match="There is no"):
        call(other, ended)
    assert hone.run(ended.run.id).state == "succeeded"
    hone.delete_run(ended.run.id)
    assert other.deletions().data == []
