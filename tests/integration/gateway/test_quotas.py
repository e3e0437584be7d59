"""Quotas, prices and budgets over REST: what a tenant may use, what it uses, and what that costs."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from psycopg import Connection

from hone.client import Client, errors, every
from hone.store.database import Database
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import MAX_UPLOADS, Gateway
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

ROW = b'{"prompt":"a","completion":"abcd"}\n'


@contextmanager
def tenant(gateway: Gateway, hone: Client, name: str) -> Iterator[Client]:
    """Yield a client of a new tenant."""
    hone.create_tenant(name)
    with gateway.client(hone.create_tenant_key(name, "first").secret) as client:
        yield client


def use(postgres: TestDatabase, run_id: str, **amounts: float) -> None:
    with Connection.connect(postgres.owner_url) as connection:
        for kind, amount in amounts.items():
            connection.execute("INSERT INTO usage (tenant_id, run_id, kind, amount) SELECT tenant_id, id, %s, %s "
                               "FROM runs WHERE id = %s", [kind, amount, run_id])


def test_a_price_holds_from_its_moment_on(hone: Client, other: Client, base: str, postgres: TestDatabase) -> None:
    run = hone.create_run(seed.spec(base, budget=3))
    assert (run.budget, run.cost, run.currency) == (3.0, 0.0, "EUR")
    use(postgres, run.id, completion_tokens=1e6, grades=5)
    assert hone.run(run.id).cost == 0.0
    hone.set_prices(completion_tokens=2.5, trainer_s=0.5, currency="CHF")
    assert hone.set_prices(trained_tokens=10).completion_tokens == 2.5
    use(postgres, run.id, completion_tokens=1e6, trained_tokens=1e5, trainer_s=4, prompt_tokens=1e9)
    found = hone.run(run.id)
    assert (found.cost, found.currency) == (2.5 + 1.0 + 2.0, "CHF")
    assert {one.id: one.cost for one in hone.usage().data}[run.id] == found.cost
    assert hone.quotas().month_budget.used == found.cost
    assert (other.quotas().month_budget.used, other.prices().trained_tokens) == (0.0, 10.0)
    with pytest.raises(errors.Forbidden, match="operator"):
        other.set_prices(grading_s=1)


def test_hours_that_are_over_become_one_row_each_and_cost_the_same(
    hone: Client, base: str, postgres: TestDatabase,
) -> None:
    run = hone.create_run(seed.spec(base))
    for _ in range(5):
        use(postgres, run.id, trained_tokens=1e6, grading_s=1.0)
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute("UPDATE usage SET created_at = now() - interval '3 hours' WHERE run_id = %s", [run.id])
    before = {one.id: (one.amounts, one.cost) for one in hone.usage().data}
    database = Database(postgres.worker_url, size=1)
    assert database.run("usage.sum_hours", limit=1000) >= 2
    assert database.run("usage.sum_hours", limit=1000) == 0
    database.close()
    assert {one.id: (one.amounts, one.cost) for one in hone.usage().data} == before
    with Connection.connect(postgres.owner_url) as connection:
        rows = connection.execute("SELECT count(*) FROM usage WHERE run_id = %s", [run.id]).fetchone()
    assert rows == (2,)


def test_a_budget_is_changed_by_admins(gateway: Gateway, hone: Client, other: Client, base: str) -> None:
    run = hone.create_run(seed.spec(base))
    assert (run.budget, hone.set_budget(run.id, 7.5).budget) == (None, 7.5)
    assert "the budget is now 7.50" in hone.events(run.id).data[-1].message
    assert hone.set_budget(run.id, None).budget is None
    with pytest.raises(errors.Refused, match="budget"):
        hone.set_budget(run.id, -1)
    with pytest.raises(errors.NotFound):
        other.set_budget(run.id, 1)
    with gateway.client(hone.create_key("runner").secret) as runner, pytest.raises(errors.Forbidden):
        runner.set_budget(run.id, 100)


def test_an_upload_that_exceeds_the_storage_is_refused_with_figures(gateway: Gateway, hone: Client) -> None:
    with tenant(gateway, hone, "small") as client:
        hone.change_tenant("small", max_stored_bytes=1000)
        with pytest.raises(errors.Conflict, match="1050 bytes, with 0 bytes stored already"):
            client.upload_dataset("large", ROW * 30)
        client.upload_dataset("fits", ROW * 20)
        assert (client.quotas().max_stored_bytes.used, client.quotas().max_stored_bytes.limit) == (700, 1000)
        assert hone.tenant_quotas("small") == client.quotas()
        client.upload_dataset("fits", ROW * 20)  # it is stored already
        with pytest.raises(errors.Conflict, match="700 bytes stored already, expected at most 1000 bytes"):
            client.upload_dataset("second", ROW * 20)
        with gateway.http(hone.create_tenant_key("small", "parts").secret) as http:
            def announced(name: str, size: int) -> int:
                file = {"name": "rows.jsonl", "bytes": size, "sha256": hashlib.sha256(name.encode()).hexdigest()}
                return http.post("/v1/uploads", json={"kind": "dataset", "name": name, "files": [file]}).status_code

            assert [announced("a", 301), announced("b", 200), announced("c", 200), announced("d", 100)] == [
                409, 201, 409, 201], "an open upload counts by what it announced"
        hone.change_tenant("small", max_stored_bytes=None)
        client.upload_dataset("second", ROW * 20)


def at_once(create: Callable[[int], int]) -> Counter[int]:
    """Call `create` with 0 to 99 in 50 threads; return how often it returned each status."""
    with ThreadPoolExecutor(50) as pool:
        return Counter(pool.map(create, range(100)))


def test_a_hundred_creations_at_once_exceed_no_quota(gateway: Gateway, hone: Client) -> None:
    hone.create_tenant("racing")
    hone.change_tenant("racing", max_stored_bytes=10 * len(ROW))
    with gateway.http(hone.create_tenant_key("racing", "first").secret) as http:
        def announce(number: int) -> int:
            file = {"name": "rows.jsonl", "bytes": len(ROW), "sha256": f"{number:064x}"}
            wanted = {"kind": "dataset", "name": f"announced-{number}", "files": [file]}
            return http.post("/v1/uploads", json=wanted).status_code

        def send(number: int) -> int:
            return http.post("/v1/datasets", data={"name": f"sent-{number}"}, files={"file": ROW * 5}).status_code

        assert at_once(announce) == {201: 10, 409: 90}
        assert hone.tenant_quotas("racing").max_stored_bytes.used == 10 * len(ROW)
        hone.change_tenant("racing", max_stored_bytes=60 * len(ROW))
        assert at_once(send) == {201: 10, 409: 90}
        hone.change_tenant("racing", max_stored_bytes=None)
        assert at_once(lambda number: announce(100 + number)) == {201: MAX_UPLOADS - 10, 409: 110 - MAX_UPLOADS}
        (error,) = http.post("/v1/uploads", json={"kind": "dataset", "name": "more", "files": [
            {"name": "rows.jsonl", "bytes": 1, "sha256": "f" * 64}]}).json()["errors"]
        assert (error["field"], error["expected"]) == ("uploads", f"at most {MAX_UPLOADS} (HONE_TENANT_UPLOADS)")
        done = http.get("/v1/uploads?limit=1").json()["data"][0]["id"]
        assert http.delete(f"/v1/uploads/{done}").status_code == 200
        assert announce(300) == 201


def test_an_export_that_exceeds_the_storage_is_refused(
    hone: Client, seeded: seed.Seeded, postgres: TestDatabase,
) -> None:
    tenant, run = hone.account().tenant, seeded.run.id
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute(
            "UPDATE versions SET manifest = jsonb_set(manifest, '{files,w}', jsonb_build_object('key', id, 'bytes', 70,"
            " 'sha256', manifest ->> 'weights_sha256')) WHERE id = ANY (%s)",
            [seeded.versions])
    stored = int(hone.quotas().max_stored_bytes.used)
    hone.change_tenant(tenant, max_stored_bytes=stored + 69)
    with pytest.raises(errors.Conflict, match=f"70 bytes, with {stored} bytes stored already"):
        hone.create_export(run)
    hone.change_tenant(tenant, max_stored_bytes=stored + 70)
    assert hone.create_export(run).state == "queued"
    hone.change_tenant(tenant, max_stored_bytes=None)


def test_usage_comes_in_pages(hone: Client, base: str, postgres: TestDatabase) -> None:
    runs = [hone.create_run(seed.spec(base)).id for _ in range(3)]
    for run in runs:
        use(postgres, run, trained_tokens=1, grades=2)
    page = hone.usage(limit=2)
    assert [one.id for one in page.data] == [runs[2], runs[1]]
    assert hone.usage(limit=1, after=page.next).data[0].id == runs[0]
    assert {one.id for one in every(hone.usage, limit=1)} >= set(runs)
    keys = list(every(hone.usage, by="key", limit=1))
    assert [(one.id, one.amounts) for one in keys] == [(one.id, one.amounts) for one in hone.usage("key").data]
    assert keys[-1].id is None, "what no key asked for"


def test_runs_and_tokens_are_counted(gateway: Gateway, hone: Client, postgres: TestDatabase, base: str) -> None:
    run = hone.create_run(seed.spec(base))
    before = hone.quotas()
    use(postgres, run.id, completion_tokens=100, trained_tokens=50, prompt_tokens=1000)
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute("UPDATE runs SET state = 'running' WHERE id = %s", [run.id])
        connection.execute("INSERT INTO usage (tenant_id, run_id, kind, amount, created_at) SELECT tenant_id, id, "
                           "'trained_tokens', 1000, now() - interval '1 day' FROM runs WHERE id = %s", [run.id])
    after = hone.quotas()
    assert after.max_runs.used == before.max_runs.used + 1
    assert after.max_tokens_a_day.used == before.max_tokens_a_day.used + 150, "those of this day, without prompts"
    with gateway.client(hone.create_key("reader", ["read"]).secret) as reader:
        assert reader.quotas() == after
