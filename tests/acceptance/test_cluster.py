"""The chart's pods, started as processes with the rendered commands and variables, train the toy run."""

import os
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
from psycopg.rows import dict_row

from hone.api.simulation_pb2 import ListEnvironmentsRequest
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from hone.client import Client
from tests.acceptance import oracle, pods, toy
from tests.acceptance.pods import Pod
from tests.acceptance.scene import wait_for
from tests.unit.k8s import charts
from tests.unit.k8s.charts import SETS, Rendered

STEPS = 24
NODES = ["--set", "trainer.nodes=2,trainer.interface=lo"]
Rows = list[dict[str, Any]]


@pytest.fixture
def rendered(request: pytest.FixtureRequest, need: Callable[[str | None], None]) -> Rendered:
    need(charts.absent())
    return charts.render(getattr(request, "param", SETS["default"]))


@pytest.fixture
def secret(postgres_server: Any, rabbitmq: Any, s3: Any) -> dict[str, str]:
    """The Secret of an installation with servers of its own, whose database is still empty."""
    name, word = f"cluster_{secrets.token_hex(4)}", secrets.token_hex(8)
    return {
        "HONE_OWNER_DATABASE_URL": postgres_server.empty(name),
        "HONE_DATABASE_URL": postgres_server.cluster.url(f"{name}_worker", word, name),
        "HONE_GATEWAY_DATABASE_URL": postgres_server.cluster.url(f"{name}_gateway", word, name),
        "HONE_OBJECTS_URL": s3.url(name.replace("_", "-")), "HONE_BROKER_URL": rabbitmq.virtual_host(name),
        "HONE_STACK_TOKEN": secrets.token_hex(16)}


@pytest.fixture
def running(rendered: Rendered, secret: dict[str, str], tmp_path: Path) -> Iterator[list[Pod]]:
    """Every pod of the chart but the Job, which has ended well before."""
    network = f"127.{os.getpid() % 200 + 20}.{secrets.randbelow(200) + 20}"
    prepare, *others = pods.of(rendered, network, secret)
    assert "made now" in prepare.run(*prepare.container["command"])
    try:
        for pod in others:
            pod.start(tmp_path)
        for pod in others:
            wait_for(f"{pod.name} to start", partial(pod.passes, "startupProbe"), 180)
        yield others
    finally:
        for pod in others:
            pod.end()


@pytest.mark.parametrize("backend", ["servers"])  # beside the other tests that use them
def test_the_rendered_pods_train_to_the_oracles_weights_and_leave_no_claim(
    backend: str, running: list[Pod], secret: dict[str, str], bases: Callable[..., Path],  # noqa: ARG001
) -> None:
    gateway, driver = (next(pod for pod in running if pod.kind == kind) for kind in ("gateway", "driver"))
    key = driver.run("hone", "keys", "first").split()[-1]
    spec = toy.spec("toy", "backends-base", STEPS, eval={"prompts": 32, "every": 8})
    with Client(f"http://{gateway.ip}:{gateway.port('gateway')}", key, timeout_s=60) as client:
        weights = trained(client, bases(), spec)
    assert weights == oracle.digests(bases(), spec)[-1]
    assert "sort_digits" in asked_at_the_door(next(pod for pod in running if pod.kind == "door"), key)
    look_from_outside(running, secret["HONE_DATABASE_URL"])
    for pod in running:
        pod.end()
    left = rows(secret["HONE_DATABASE_URL"], "SELECT id FROM workers UNION ALL SELECT id FROM engines")
    assert left == [], "whoever ends in order takes its row along"


@pytest.mark.soak
@pytest.mark.parametrize("rendered", [NODES], indirect=True, ids=["servers"])
def test_a_trainer_of_two_pods_trains(running: list[Pod], bases: Callable[..., Path]) -> None:
    gateway, driver = (next(pod for pod in running if pod.kind == kind) for kind in ("gateway", "driver"))
    assert [pod.name for pod in running if pod.kind == "trainer"] == ["hone-trainer-0", "hone-trainer-0-1"]
    key = driver.run("hone", "keys", "first").split()[-1]
    with Client(f"http://{gateway.ip}:{gateway.port('gateway')}", key, timeout_s=60) as client:
        assert trained(client, bases(), toy.spec("toy", "base", STEPS))


def trained(client: Client, base: Path, spec: dict[str, Any]) -> str:
    """Train to the end and return the digest of the last weights; every service then says that it is well."""
    client.upload_model(spec["model"]["base"], base)
    run = client.create_run(spec)
    ended = wait_for("the run's end", lambda: ended_of(client, run.id), 240)
    assert ended.state == "succeeded", ended.reason
    wait_for("every service to say that it is well", lambda: client.health().ok, 120)
    newest = client.checkpoints(run.id, limit=1).data[0]
    assert newest.number == STEPS
    return str(newest.weights_sha256)


def asked_at_the_door(door: Pod, key: str) -> list[str]:
    """Return the environments, asked for by gRPC with the chart's certificate, as a client of another system would."""
    [files] = door.mounts.values()
    trust = grpc.ssl_channel_credentials(files["ca.crt"])
    options = [("grpc.ssl_target_name_override", "hone-door")]
    with grpc.secure_channel(f"{door.ip}:{door.port('door')}", trust, options) as channel:
        answer = SimulationServiceStub(channel).ListEnvironments(
            ListEnvironmentsRequest(), metadata=(("authorization", f"Bearer {key}"),), timeout=60)
    return [one.name for one in answer.environments]


def ended_of(client: Client, run_id: str) -> Any:
    run = client.run(run_id)
    return run if run.state in ("succeeded", "failed", "cancelled") else None


def look_from_outside(running: list[Pod], database: str) -> None:
    """Ask as the kubelet, Prometheus and KEDA would: probes, metrics, queries. Engines are at their pods' IPs."""
    for pod in running:
        assert pod.passes("livenessProbe"), pod.name  # all three ask the same
        assert b"process_cpu_seconds_total" in pod.get(pod.port("metrics"), "/metrics"), pod.name
    engines = {f"{pod.ip}:{pod.port('inference')}" for pod in running if pod.kind == "inference"}
    assert {row["address"] for row in rows(database, "SELECT address FROM engines")} == engines
    scaled = charts.render(SETS["hardened"]).of("ScaledObject")
    for query in (trigger["metadata"]["query"] for one in scaled for trigger in one["spec"]["triggers"]):
        [answer] = rows(database, query)
        assert float(*answer.values()) >= 0


def rows(database: str, query: Any) -> Rows:
    with psycopg.connect(database, row_factory=dict_row) as connection:
        return connection.execute(query).fetchall()
