"""The gateway's process: its open pages, its end, and its behaviour without database or object store."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from psycopg import Connection

from hone.client import Client, every
from hone.client.errors import Refused
from hone.stack import ports
from hone.store.database import Database
from services.gateway.app import declarations
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import ABSENT, Gateway
from tests.servers.children import Children
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone


class TestOpenPaths:
    def test_the_page_names_every_operation(self, gateway: Gateway) -> None:
        with gateway.http() as http:
            schema, page = http.get("/openapi.json").json(), http.get("/docs")
        assert page.headers["content-type"].startswith("text/html")
        for path, methods in schema["paths"].items():
            for method in methods:
                assert f"<b>{method.upper()}</b>{path}</h3>" in page.text
        assert "sort_digits" in page.text
        assert page.text.count("<small>Scope: admin.</small>") == sum(
            one.scope == "admin" for one in declarations().routes)
        assert "http://cdn" not in page.text
        assert "<script" not in page.text

    def test_run_specs_are_described_with_examples(self, gateway: Gateway) -> None:
        with gateway.http() as http:
            document = http.get("/openapi.json").json()
        body = document["paths"]["/v1/runs"]["post"]["requestBody"]["content"]["application/json"]
        assert {"rl", "sft"} == body["examples"].keys()
        assert body["schema"] == {"$ref": "#/components/schemas/NewRun"}
        assert "max_staleness" in document["components"]["schemas"]["NewRun"]["properties"]

    def test_home_icon_and_life(self, gateway: Gateway) -> None:
        with gateway.http() as http:
            assert http.get("/").headers["location"] == "/docs"
            assert http.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
            assert http.get("/healthz").json() == {"ok": True}


def test_health_names_each_service(hone: Client) -> None:
    health = hone.health()
    found = {service.name: service.ok for service in health.services}
    disks = {name for name in found if name.startswith("disk /")}
    assert disks
    assert {name for name, ok in found.items() if ok} == {"postgres", "objects", "broker"} | disks
    silent = {"trainer", "rollout"}
    assert {name for name, ok in found.items() if not ok} == {name.lower() for name in ABSENT} | silent
    assert not health.ok
    assert {service.name for service in health.services if service.ms is None} == silent | disks
    assert all("UNAVAILABLE" in service.detail or (service.name in silent and "none has reported" in service.detail)
               for service in health.services if not service.ok)


def test_health_knows_workers_by_their_heartbeat(hone: Client, database: Database, postgres: TestDatabase) -> None:
    silent_s = {"rollout-0": 0, "trainer-0": 25, "trainer-9": 3600}
    for name in silent_s:
        database.run("workers.beat", id=name, kind=name.partition("-")[0])
    with Connection.connect(postgres.owner_url) as connection:
        for name, seconds in silent_s.items():
            connection.execute("UPDATE workers SET heartbeat_at = now() - make_interval(secs => %s) WHERE id = %s",
                               (seconds, name))
    services = [one for one in hone.health().services if not one.name.startswith("disk /")]
    found = {service.name: service.detail for service in services}
    assert {service.name for service in services if service.ms is None} == {"rollout rollout-0", "trainer trainer-0"}
    assert found["rollout rollout-0"].startswith("reported ")
    assert "silent for 2" in found["trainer trainer-0"]
    assert not {"trainer trainer-9", "trainer", "rollout"} & found.keys()
    for name in silent_s:
        database.run("workers.leave", id=name)


def test_catalogs(hone: Client) -> None:
    environments = {one.name: one for one in hone.environments()}
    assert {"sort_digits", "reasoning_gym"} <= environments.keys()
    assert "digits" in environments["sort_digits"].params_schema["properties"]
    assert {"grpo", "rloo", "sft"} <= {one.name for one in hone.algorithms()}
    begun = hone.starting_spec("grpo", base="toy", environment="sort_digits")
    assert begun.spec["model"] == {"base": "toy"}
    assert "task: {environment: sort_digits" in begun.text
    with pytest.raises(Refused, match="a preset that runs"):
        hone.starting_spec("memocr")


def test_request_ids_are_answered_and_logged(gateway: Gateway, tenant: str) -> None:
    with gateway.http(tenant) as http:
        assert http.get("/v1/runs", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
        assert http.get("/v1/runs", headers={"X-Request-Id": "a b"}).headers["x-request-id"].startswith("req_")
    assert '"request_id": "mine-1"' in gateway.log.read_text()
    assert tenant not in gateway.log.read_text()


def test_no_torch_in_the_process(gateway: Gateway, hone: Client, base: str) -> None:
    hone.resolve(seed.spec(base))
    hone.trajectories(hone.create_run(seed.spec(base)).id)
    mapped = Path(f"/proc/{gateway.pid}/maps").read_text()
    assert "torch" not in mapped
    assert "transformers" not in mapped


@pytest.fixture
def settings(postgres: TestDatabase, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "HONE_GATEWAY_DATABASE_URL": postgres.gateway_url, "HONE_SWEEP_S": "0.05",
            "HONE_OBJECTS_URL": f"file://{tmp_path / 'objects'}", "HONE_BROKER_URL": f"filesystem://{tmp_path}",
            "HONE_GATEWAY_ADDRESS": f"127.0.0.1:{ports.pick(1)[0]}"}


def _start(children: Children, settings: dict[str, str]) -> tuple[subprocess.Popen[bytes], str]:
    address = settings["HONE_GATEWAY_ADDRESS"]
    child = children.start("gateway", [sys.executable, "-m", "services.gateway"], env=settings)
    children.wait("gateway", lambda: ports.answers(address), timeout_s=120)
    return child, f"http://{address}"


def test_it_ends_soon_although_somebody_follows(
    settings: dict[str, str], tmp_path: Path, hone: Client, tenant: str, base: str,
) -> None:
    run = hone.create_run(seed.spec(base))
    with Children(tmp_path) as children:
        child, url = _start(children, settings)
        begun = threading.Event()

        def follow() -> None:
            with (httpx.Client(base_url=url, headers={"X-API-Key": tenant}) as http,
                  http.stream("GET", f"/v1/runs/{run.id}/events", headers={"Accept": "text/event-stream"}) as answer):
                for _ in answer.iter_lines():
                    begun.set()

        threading.Thread(target=_until_broken, args=[follow], daemon=True).start()
        assert begun.wait(60)
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) in {0, -signal.SIGTERM}


def _until_broken(follow: threading.Thread | object) -> None:
    try:
        follow()  # type: ignore[operator]
    except httpx.TransportError:
        return


def test_killed_between_commit_and_answer_the_repeated_request_makes_no_second_run(
    settings: dict[str, str], tmp_path: Path, hone: Client, tenant: str, base: str,
) -> None:
    crash = tmp_path / "crash"
    crash.mkdir()
    (crash / "run.row-answer").touch()
    before = len(list(every(hone.runs)))
    headers = {"Authorization": f"Bearer {tenant}", "Idempotency-Key": "kept over the crash"}
    with Children(tmp_path) as children:
        child, url = _start(children, {**settings, "HONE_CRASH_DIR": str(crash)})
        with pytest.raises(httpx.TransportError):
            httpx.post(f"{url}/v1/runs", json=seed.spec(base), headers=headers)
        assert child.wait(60) == -signal.SIGKILL
        _, url = _start(children, settings)
        answer = httpx.post(f"{url}/v1/runs", json=seed.spec(base), headers=headers, timeout=60)
    assert answer.status_code == 201
    runs = list(every(hone.runs))
    assert len(runs) == before + 1
    assert runs[0].id == answer.json()["id"]


def test_without_a_database_it_starts_and_says_so(settings: dict[str, str], tmp_path: Path) -> None:
    nowhere = f"postgresql://nobody@127.0.0.1:{ports.pick(1)[0]}/nothing"
    with Children(tmp_path) as children:
        _, url = _start(children, {**settings, "HONE_GATEWAY_DATABASE_URL": nowhere})
        assert httpx.get(f"{url}/healthz").json() == {"ok": True}
        answer = httpx.get(f"{url}/v1/runs", headers={"X-API-Key": "tml-x"}, timeout=60)
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "1"


def test_graders_are_checked_while_no_reward_service_runs(gateway: Gateway, tenant: str, base: str) -> None:
    with gateway.http(tenant) as http:
        assert http.post("/v1/runs", json=seed.spec(base, grader={"type": "exact"})).status_code == 201
        answer = http.post("/v1/runs", json=seed.spec(base, grader={"type": "exact", "stripp": 1}))
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], error["found"]) == ("grader.stripp", "unknown key with value 1")
    assert "did you mean strip?" in error["expected"]
