"""The Compose file: it names every kind of process, and keeps to what docs/compose.md promises of each."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hone.spec.settings import Settings
from hone.stack.processes import KINDS

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
SERVERS = {"postgres", "rabbitmq", "minio", "collector"}
HOLD_TORCH = {"inference", "trainer"}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text())
    return found


def test_every_kind_of_process_is_a_service_that_runs_it(compose: dict[str, Any]) -> None:
    assert compose["services"].keys() == {*SERVERS, "prepare", *KINDS}
    for kind in KINDS:
        service = compose["services"][kind]
        assert service["command"] == ["python", "-m", "hone.stack.container", "run", kind]
        assert service["healthcheck"]["test"] == ["CMD", "python", "-m", "hone.stack.container", "probe", kind]


def test_torch_is_only_in_the_image_of_those_that_hold_it(compose: dict[str, Any]) -> None:
    files = {kind: compose["services"][kind]["build"]["dockerfile"] for kind in KINDS}
    assert {kind for kind, file in files.items() if file == "deploy/Dockerfile.torch"} == HOLD_TORCH
    assert set(files.values()) == {"deploy/Dockerfile.torch", "deploy/Dockerfile.services"}
    for file in set(files.values()):
        assert re.search(r"^USER 10001", (DEPLOY.parent / file).read_text(), re.MULTILINE)


def test_our_processes_can_write_nowhere_gain_nothing_and_have_limits(compose: dict[str, Any]) -> None:
    for name in ("prepare", *KINDS):
        service = compose["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    for name, service in compose["services"].items():
        assert service["mem_limit"], name
        assert service["cpus"], name
        assert "healthcheck" in service or name in {"prepare", "collector"}, name


def test_several_of_a_kind_are_possible_where_they_make_sense(compose: dict[str, Any]) -> None:
    for kind in (kind for kind, one in KINDS.items() if one.several):
        assert not {"container_name", "hostname", "ports"} & compose["services"][kind].keys()


def test_every_variable_is_a_setting_and_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    settings = {f"HONE_{name.upper()}" for name in Settings.model_fields}
    for name, service in compose["services"].items():
        given = service.get("environment", {})
        assert {key for key in given if key.startswith("HONE_")} <= settings, name
        for key, value in given.items():
            secret = re.search(r"://[^:/]+:([^@]+)@", value) or (re.match(r"(.*)", value) if "PASS" in key else None)
            assert secret is None or re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", secret[1]), (name, key)


def test_only_the_door_is_open_and_the_gateway_has_no_workers_password(compose: dict[str, Any]) -> None:
    assert {name for name, service in compose["services"].items() if "ports" in service} == {"gateway", "console"}
    gateway = compose["services"]["gateway"]
    console = compose["services"]["console"]
    assert "127.0.0.1" in gateway["ports"][0]
    assert "127.0.0.1" in console["ports"][0]
    assert "HONE_DATABASE_URL" not in console["environment"]
    assert not {"HONE_DATABASE_URL", "HONE_OWNER_DATABASE_URL"} & gateway["environment"].keys()


def test_the_example_names_every_secret(compose: dict[str, Any]) -> None:
    asked = set(re.findall(r"\$\{([A-Z_]+):\?", (DEPLOY / "docker-compose.yml").read_text()))
    assert asked == set(re.findall(r"^([A-Z_]+)=$", (DEPLOY / "env.example").read_text(), re.MULTILINE))
    assert {volume for service in compose["services"].values() for volume in named_volumes(service)} == {
        *compose["volumes"]} - {"models"}


def named_volumes(service: dict[str, Any]) -> list[str]:
    """Return the names of the volumes that a service keeps its data in."""
    sources = [volume.partition(":")[0] for volume in service.get("volumes", [])]
    return [source for source in sources if source.isidentifier()]


def test_the_collector_takes_what_the_services_send(compose: dict[str, Any]) -> None:
    collector = yaml.safe_load((DEPLOY / "otel-collector.yaml").read_text())
    port = compose["x-places"]["HONE_OTLP_ENDPOINT"].rpartition(":")[2]
    assert collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(f":{port}")
    for signal in ("traces", "metrics", "logs"):
        assert collector["service"]["pipelines"][signal]["receivers"] == ["otlp"]
