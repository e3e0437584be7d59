"""/metrics as Prometheus scrapes it: the gauges of the key's tenant."""

from prometheus_client.parser import text_string_to_metric_families
from psycopg import Connection

from hone.client import Client
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase


def scrape(gateway: Gateway, key: str) -> dict[tuple[str, ...], float]:
    """Return the value of each sample by its name and its labels' values."""
    with gateway.http(key) as http:
        answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {(sample.name, *sample.labels.values()): sample.value
            for family in text_string_to_metric_families(answer.text) for sample in family.samples}


def test_without_a_key_there_are_no_metrics(gateway: Gateway) -> None:
    with gateway.http() as http:
        assert http.get("/metrics").status_code == 401


def test_a_tenant_sees_its_own_runs(
    gateway: Gateway, tenant: str, other_tenant: str, other: Client, seeded: Seeded,
) -> None:
    own, foreign = scrape(gateway, tenant), scrape(gateway, other_tenant)
    assert own["hone_run_step", seeded.run.id] == 2
    assert own["hone_run_steps", seeded.run.id] == seeded.run.steps
    assert own["hone_runs", "queued"] >= 1
    assert foreign["hone_runs", "queued"] == len(other.runs(state="queued").data)
    assert not [name for name in foreign if seeded.run.id in name]


def test_groups_engines_and_models(
    gateway: Gateway, tenant: str, other_tenant: str, seeded: Seeded, postgres: TestDatabase,
) -> None:
    with Connection.connect(postgres.owner_url) as connection:
        connection.execute(
            "INSERT INTO groups (tenant_id, run_id, purpose, request_no, step, task_hash, \"order\", model_id, "
            "deadline, created_at) SELECT tenant_id, id, 'probe', 900, 3, '', '{}', policy_model_id, "
            "deadline, now() - interval '90 s' FROM runs WHERE id = %s", [seeded.run.id])
        connection.execute("INSERT INTO engines (id, address, kind) VALUES ('engine_1', '127.0.0.1:1', 'native')")
        connection.execute(
            "INSERT INTO engine_models (engine_id, model_id, version_id, refused_version_id, generated_tokens) "
            "VALUES ('engine_1', %s, %s, %s, 77)", [seeded.run.model_id, seeded.versions[1], seeded.versions[2]])
    own, foreign = scrape(gateway, tenant), scrape(gateway, other_tenant)
    assert own["hone_groups", "probe", "waiting"] == 1
    assert 90 <= own["hone_groups_oldest_seconds", "probe", "waiting"] < 150
    assert ("hone_groups", "probe", "waiting") not in foreign
    assert own["hone_engine_tokens_total", "engine_1", seeded.run.model_id] == 77
    assert ("hone_engine_tokens_total", "engine_1", seeded.run.model_id) not in foreign
    for gauges, refused in ((own, 1), (foreign, 0)):
        assert gauges["hone_engine_refused_versions", "engine_1"] == refused
        assert gauges["hone_engine_heartbeat_age_seconds", "engine_1"] < 60
