"""The Compose file: it has every kind of process and keeps the promises of docs/compose.md."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from hone.spec.settings import VARIABLES, EngineSettings
from hone.stack.processes import KINDS

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
SERVERS = {"postgres", "rabbitmq", "minio", "collector", "prometheus"}
ONCE = {"prepare", "objects"}
HOLD_TORCH = {"inference", "trainer"}
ENGINES = get_args(EngineSettings.model_fields["kind"].annotation)
NOT_CHOSEN = {"HONE_INFERENCE_ADDRESS", "HONE_PROCESS_NAME"}
"""Each container makes these from its name."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text())
    return found


def test_every_kind_of_process_is_a_service_that_runs_it(compose: dict[str, Any]) -> None:
    assert compose["services"].keys() == {*SERVERS, *ONCE, *KINDS}
    for kind in KINDS:
        service = compose["services"][kind]
        assert service["command"] == ["python", "-m", "hone.stack.container", "run", kind]
        assert service["healthcheck"]["test"] == ["CMD", "python", "-m", "hone.stack.container", "probe", kind]


def test_torch_is_only_in_the_images_that_need_it(compose: dict[str, Any]) -> None:
    files = {kind: compose["services"][kind]["build"]["dockerfile"] for kind in KINDS}
    assert {kind for kind, file in files.items() if file != "deploy/Dockerfile.services"} == HOLD_TORCH
    assert files["trainer"] == "deploy/Dockerfile.native"
    assert "torch" not in (DEPLOY / "Dockerfile.services").read_text().partition("FROM")[2]


def test_one_setting_chooses_the_engine_and_its_image(compose: dict[str, Any]) -> None:
    inference = compose["services"]["inference"]
    assert inference["environment"]["HONE_ENGINE"] == "${HONE_ENGINE:-native}"
    assert inference["build"]["dockerfile"] == "deploy/Dockerfile.${HONE_ENGINE:-native}"
    assert inference["image"] == "${HONE_INFERENCE_IMAGE:-hone-${HONE_ENGINE:-native}:latest}"
    assert compose["services"]["trainer"]["image"].endswith(":-hone-native:latest}")
    assert {path.suffix[1:] for path in DEPLOY.glob("Dockerfile.*")} == {"services", *ENGINES}


@pytest.mark.parametrize("name", ["services", *ENGINES])
def test_an_image_runs_as_a_user_of_its_own(name: str) -> None:
    assert re.search(r"^USER 10001:10001$", (DEPLOY / f"Dockerfile.{name}").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", ENGINES)
def test_torch_comes_first_in_the_version_that_is_pinned(name: str) -> None:
    pinned, _, rest = (DEPLOY / f"Dockerfile.{name}").read_text().partition("-r torch.txt")
    assert "requirements.py train | grep '^torch=='" in pinned
    assert f"requirements.py {'train' if name == 'native' else name} >" in rest


def test_vllms_image_removes_the_packages_that_its_environment_removes() -> None:
    removed = r"uninstall --yes ([a-z ]+)"
    script = re.search(removed, (DEPLOY.parent / "scripts" / "environment.sh").read_text())
    dockerfile = re.search(removed, (DEPLOY / "Dockerfile.vllm").read_text())
    assert script is not None
    assert dockerfile is not None
    assert script[1].split() == dockerfile[1].split()


def test_nobody_is_root_can_write_or_gain_anything_and_all_have_limits(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["mem_limit"], name
        assert service["cpus"], name
        assert "cap_add" not in service, name
        assert service.get("user", "") not in ("0", "root", "0:0"), name
        assert ("user" in service) == (name in SERVERS), name
        assert ("healthcheck" in service) == (name not in {*ONCE, "collector"}), name


def test_a_kind_that_may_have_several_processes_can_have_them(compose: dict[str, Any]) -> None:
    for kind in (kind for kind, one in KINDS.items() if one.several):
        assert not {"container_name", "hostname", "ports"} & compose["services"][kind].keys()


def test_every_variable_is_a_setting_and_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    settings = {*VARIABLES, "HONE_OWNER_DATABASE_URL"}
    for name, service in compose["services"].items():
        given = service.get("environment", {})
        assert {key for key in given if key.startswith("HONE_")} <= settings, name
        for key, value in given.items():
            if value is None:
                continue
            secret = re.search(r"://[^:/]+:([^@]+)@", value) or (re.match(r"(.*)", value) if "PASS" in key else None)
            assert secret is None or re.fullmatch(r"\$\{[A-Z_]+:\?.+\}", secret[1]), (name, key)


def test_every_setting_can_be_chosen(compose: dict[str, Any]) -> None:
    given = {key for service in compose["services"].values() for key in service.get("environment", {})}
    assert VARIABLES.keys() - given == NOT_CHOSEN
    for kind in sorted(KINDS.keys() - {"inference"}):
        assert "HONE_ENGINE_MAX_TOKENS" in compose["services"][kind]["environment"], kind


def test_a_sinks_login_is_given_to_sinks_alone(compose: dict[str, Any]) -> None:
    for key in ("WANDB_API_KEY", "MLFLOW_TRACKING_TOKEN"):
        given = {name for name, service in compose["services"].items() if key in service.get("environment", {})}
        assert given == {"sinks"}


def test_only_public_ports_are_open_and_the_gateway_has_no_workers_password(compose: dict[str, Any]) -> None:
    assert {name for name, service in compose["services"].items() if "ports" in service} == {
        "gateway", "console", "prometheus"}
    gateway = compose["services"]["gateway"]
    console = compose["services"]["console"]
    for service in (gateway, console, compose["services"]["prometheus"]):
        assert ":-127.0.0.1:" in service["ports"][0]
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


def test_the_collector_takes_the_services_spans(compose: dict[str, Any]) -> None:
    collector = yaml.safe_load((DEPLOY / "otel-collector.yaml").read_text())
    port = compose["x-settings"]["HONE_OTLP_ENDPOINT"].removesuffix("}").rpartition(":")[2]
    assert collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(f":{port}")
    assert {name: pipeline["receivers"] for name, pipeline in collector["service"]["pipelines"].items()} == {
        "traces": ["otlp"]}


def test_prometheus_scrapes_every_kind_of_process_and_has_the_rules(compose: dict[str, Any]) -> None:
    (scraped,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = scraped["dns_sd_configs"]
    assert sorted(found["names"]) == sorted(KINDS)
    for kind in KINDS:
        assert compose["services"][kind]["environment"]["HONE_METRICS_ADDRESS"] == f"0.0.0.0:{found['port']}"
    mounted = {volume.split(":")[0] for volume in compose["services"]["prometheus"]["volumes"]}
    assert mounted == {"./prometheus.yml", "./alerts.yml", "prometheus"}
