"""The Compose file: it has every kind of process and keeps the promises of docs/compose.md."""

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from hone.spec.settings import IN_FILES, OTHER_VARIABLES, VARIABLES, EngineSettings
from hone.stack import secret_files
from hone.stack.processes import KINDS

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SERVERS = {"postgres", "rabbitmq", "objects", "collector", "prometheus"}
STORES = {path.stem: path for path in (DEPLOY / "objects").glob("*.yml")}
ONCE = {"prepare", "secrets"}
HOLD_TORCH = {"inference", "trainer"}
ENGINES = get_args(EngineSettings.model_fields["kind"].annotation)
HOLD = {
    "postgres": {"owner"}, "rabbitmq": {"rabbitmq"}, "objects": {"objects"}, "gateway": {"gateway", "stack"},
    "prepare": {"owner", "worker", "gateway", "stack"}, "console": set(),
    "door": {"gateway", "stack", "door"}, "sandbox": {"sandbox"}}
"""Whose secrets a service may read, where it is not one of the workers."""
NOT_CHOSEN = {"HONE_INFERENCE_ADDRESS", "HONE_PROCESS_NAME", "HONE_STATE"}
"""Each container makes the first two from its name; it has no state directory."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file as Compose reads it, with the object store that it has by default."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    objects = found["services"]["objects"]
    file = objects.pop("extends")["file"].replace("${HONE_OBJECTS:-minio}", "minio")
    objects |= yaml.safe_load((ROOT / file).read_text())["services"]["objects"]
    return found


def mounted(service: dict[str, Any]) -> dict[str, str]:
    """Return where each volume and directory of a service is in it."""
    places = (re.sub(r"\$\{[A-Z_]+:-(\w+)\}", r"\1", volume).split(":") for volume in service.get("volumes", []))
    return {place[0]: place[1] for place in places if len(place) > 1}


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
    assert inference["image"] == "${HONE_INFERENCE_IMAGE:-hone-${HONE_ENGINE:-native}:${HONE_TAG:-latest}}"
    assert compose["services"]["trainer"]["image"].endswith(":-hone-native:${HONE_TAG:-latest}}")
    assert {path.suffix[1:] for path in DEPLOY.glob("Dockerfile.*")} == {"services", *ENGINES}


@pytest.mark.parametrize("name", ["services", *ENGINES])
def test_an_image_runs_as_a_user_of_its_own(name: str) -> None:
    assert re.search(r"^USER 10001:10001$", (DEPLOY / f"Dockerfile.{name}").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", ENGINES)
def test_torch_comes_first_in_the_version_that_is_pinned(name: str) -> None:
    pinned, _, rest = (DEPLOY / f"Dockerfile.{name}").read_text().partition("-r torch.txt")
    assert "requirements.py train | grep '^torch=='" in pinned
    assert f"requirements.py {'train' if name == 'native' else '${ENGINE}'} >" in rest


def test_vllms_image_removes_the_packages_that_its_environment_removes() -> None:
    removed = r"uninstall --yes ([a-z ]+)"
    script = re.search(removed, (ROOT / "scripts" / "environment.sh").read_text())
    dockerfile = re.search(removed, (DEPLOY / "Dockerfile.vllm").read_text())
    assert script is not None
    assert dockerfile is not None
    assert script[1].split() == dockerfile[1].split()


def test_nobody_is_root_can_write_or_gain_anything_and_all_have_limits(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        profiles = ["seccomp:unconfined", "apparmor:unconfined"] if name == "sandbox" else []  # it has walls of its own
        assert service["security_opt"] == ["no-new-privileges:true", *profiles], name
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
    known = VARIABLES.keys() | OTHER_VARIABLES | {f"{name}_FILE" for name in IN_FILES}
    for name, service in compose["services"].items():
        given = service.get("environment", {})
        assert {key for key in given if key.startswith("HONE_")} <= known, name
        for key, value in given.items():
            assert value is None or not re.search(r"://[^/]*@", value), (name, key)
            assert value is None or "PASS" not in key or key.endswith("_FILE"), (name, key)
    asked = set(re.findall(r"\$\{(HONE_[A-Z_]+)", (ROOT / "docker-compose.yml").read_text()))
    assert asked <= VARIABLES.keys() | OTHER_VARIABLES
    assert ":?" not in (ROOT / "docker-compose.yml").read_text(), "nothing is needed before the first start"


def test_each_service_reads_the_secrets_that_it_needs_and_no_others(compose: dict[str, Any]) -> None:
    services = compose["services"]
    made = {f"{folder}/{file}" for folder, file in (name.split("/") for name in secret_files.files(
        dict.fromkeys(secret_files.MADE_NAMES, "x"), {}))}
    for name, service in services.items():
        places = {volume: place for volume, place in mounted(service).items() if volume.endswith("-secrets")}
        if name == "secrets":
            assert places == {f"{one}-secrets": f"/var/lib/hone/secrets/{one}" for one in (
                *secret_files.VOLUMES, secret_files.MADE)}
            continue
        held = {volume.removesuffix("-secrets") for volume in places}
        assert places == {f"{one}-secrets": f"/run/secrets/{one}" for one in held}, name
        text = yaml.dump({**service, "volumes": []})
        read = set(re.findall(r"/run/secrets/([a-z]+/[a-z.-]+)", text))
        assert read <= made, name
        assert {one.partition("/")[0] for one in read} == held, name
        assert held == HOLD.get(name, {"stack", "worker"} if name in KINDS else set()), name
        assert all(volume.endswith(":ro") for volume in service.get("volumes", []) if "-secrets:" in volume), name


def test_what_runs_once_is_waited_for_to_its_end(compose: dict[str, Any]) -> None:
    """`up --wait` counts a container that has ended as a failure, unless another service waits for that end."""
    for name in ONCE:
        assert compose["services"][name]["restart"] == "no"
        assert {"condition": "service_completed_successfully"} in [
            service.get("depends_on", {}).get(name) for service in compose["services"].values()]


def test_one_variable_chooses_the_object_store(compose: dict[str, Any]) -> None:
    assert STORES.keys() == {"minio", "seaweedfs", "rustfs"}
    page = (ROOT / "docs" / "compose.md").read_text()
    for name, path in STORES.items():
        file = yaml.safe_load(path.read_text())["services"]
        assert file.keys() == {"objects"}
        variable, _, image = file["objects"]["image"].removeprefix("${").removesuffix("}").partition(":-")
        assert variable == f"{name.upper()}_IMAGE"
        assert re.fullmatch(r"[a-z]+/[a-z]+:[^@]+@sha256:[0-9a-f]{64}", image)
        assert f"`HONE_OBJECTS={name}`" in page
    assert compose["volumes"]["objects"]["name"] == "${COMPOSE_PROJECT_NAME}_objects-${HONE_OBJECTS:-minio}"


def test_the_image_has_a_directory_of_its_user_for_each_volume_that_is_filled_from_it(compose: dict[str, Any]) -> None:
    (names,) = re.findall(r"for name in ([a-z ]+);", (DEPLOY / "Dockerfile.services").read_text())
    assert set(names.split()) == {*secret_files.VOLUMES, secret_files.MADE}
    assert "objects" in mounted(compose["services"]["secrets"])


def test_every_setting_can_be_chosen(compose: dict[str, Any]) -> None:
    given = {key.removesuffix("_FILE") for service in compose["services"].values()
             for key in service.get("environment", {})}
    assert VARIABLES.keys() - given == NOT_CHOSEN
    for kind in sorted(KINDS.keys() - {"inference"}):
        assert "HONE_ENGINE_MAX_TOKENS" in compose["services"][kind]["environment"], kind


def test_a_sinks_login_is_given_to_sinks_alone(compose: dict[str, Any]) -> None:
    for key in ("WANDB_API_KEY", "MLFLOW_TRACKING_TOKEN"):
        given = {name for name, service in compose["services"].items() if key in service.get("environment", {})}
        assert given == {"sinks"}


def test_only_public_ports_are_open_and_the_gateway_has_no_workers_password(compose: dict[str, Any]) -> None:
    assert {name for name, service in compose["services"].items() if "ports" in service} == {
        "gateway", "door", "console", "prometheus"}
    gateway = compose["services"]["gateway"]
    console = compose["services"]["console"]
    for service in (gateway, console, compose["services"]["prometheus"]):
        assert ":-127.0.0.1:" in service["ports"][0]


def test_logs_do_not_fill_the_disk(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name


def test_the_example_of_a_file_of_variables_has_them_all_with_their_defaults(compose: dict[str, Any]) -> None:
    text = (ROOT / "docker-compose.yml").read_text() + "".join(path.read_text() for path in STORES.values())
    asked = dict(re.findall(r"\$\{([A-Z_]+)(?::-([^${}]*))?\}", text))
    shown = dict(re.findall(r"^# ([A-Z_]+)=(.*)$", (DEPLOY / "example.env").read_text(), re.MULTILINE))
    given = [one for service in compose["services"].values() for one in service.get("environment", {}).items()]
    passed_on = {key for key, value in given if value is None and key not in VARIABLES}
    own = {"HONE_SERVICES_IMAGE", "HONE_TRAINER_IMAGE", "HONE_INFERENCE_IMAGE"}
    servers = {"HONE_DATABASE_URL", "HONE_GATEWAY_DATABASE_URL", "HONE_OBJECTS_URL", "HONE_BROKER_URL"}
    assert shown.keys() == (asked.keys() | passed_on | own | servers) - {"COMPOSE_PROJECT_NAME"}
    pinned = {name for name, default in asked.items() if "@sha256:" in default}
    assert {name: shown[name] for name in asked.keys() - pinned - {"COMPOSE_PROJECT_NAME"}} == {
        name: default for name, default in asked.items() if name not in {*pinned, "COMPOSE_PROJECT_NAME"}}


def test_the_file_for_gpus_changes_engine_and_trainer_alone(compose: dict[str, Any]) -> None:
    services = yaml.safe_load((DEPLOY / "gpu.yml").read_text())["services"]
    assert services.keys() == HOLD_TORCH
    for name, service in services.items():
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
        assert service["environment"].keys() <= compose["services"][name]["environment"].keys()
    assert services["inference"]["build"]["args"]["ENGINE"] in EXTRAS


def test_every_volume_is_used(compose: dict[str, Any]) -> None:
    used = {volume for service in compose["services"].values() for volume in mounted(service)}
    assert {volume for volume in used if re.fullmatch(r"[a-z-]+", volume)} == compose["volumes"].keys()


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
    assert mounted(compose["services"]["prometheus"]).keys() == {
        "./deploy/prometheus.yml", "./deploy/alerts.yml", "prometheus"}
