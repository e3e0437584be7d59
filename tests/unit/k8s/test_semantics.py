"""What no schema checks: names that must be the same in two places, and rights that every pod must give up."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from hone.spec.settings import OTHER_VARIABLES, VARIABLES, read
from hone.stack.processes import KINDS, METRICS
from tests.support.k8s.semantics import KEYS, SERVERS, values
from tests.unit.k8s.charts import CHART, Manifest, Rendered, component, matches

FACTS: dict[str, Any] = yaml.safe_load((CHART / "files" / "kinds.yaml").read_text())


def test_every_kind_of_process_runs_and_is_asked_how_it_is(rendered: Rendered) -> None:
    found = {name: container for name, container in rendered.containers() if name not in SERVERS}
    assert found.keys() - {"prepare"} == KINDS.keys() - ({"sinks"} - found.keys())
    for name in found.keys() - {"prepare"}:
        run = ["python", "-m", "hone.stack.container", "run", name]
        assert found[name]["command"] == run or found[name]["command"][-4:] == run[1:], name
    assert found["prepare"]["command"][:2] == ["hone", "prepare"]


def test_what_is_stateless_is_a_deployment_and_what_keeps_its_name_is_not(rendered: Rendered) -> None:
    kinds = {component(manifest): manifest["kind"] for manifest in rendered.of(
        "Deployment", "StatefulSet", "LeaderWorkerSet") if component(manifest) in KINDS}
    assert {name for name, kind in kinds.items() if kind != "Deployment"} == {"inference", "trainer"}
    driver = next(one for one in rendered.of("Deployment") if component(one) == "driver")
    assert driver["spec"]["replicas"] == 2


def test_selectors_find_the_pods_of_their_own_kind_and_no_others(rendered: Rendered) -> None:
    pods = list(rendered.pods())
    for manifest in rendered.of("Deployment", "StatefulSet", "PodDisruptionBudget"):
        chosen = {name for name, pod in pods if matches(manifest["spec"]["selector"]["matchLabels"], pod)}
        assert chosen == {component(manifest)}, manifest["metadata"]["name"]
    for manifest in rendered.of("Service"):
        chosen = {name for name, pod in pods if matches(manifest["spec"]["selector"], pod)}
        assert chosen <= {component(manifest)}, manifest["metadata"]["name"]
        assert chosen or component(manifest) == "sinks"


def test_ports_that_are_named_exist(rendered: Rendered) -> None:
    ports = {name: {port["name"] for port in container.get("ports", [])} for name, container in rendered.containers()}
    for service in rendered.of("Service"):
        for port in service["spec"]["ports"]:
            assert port["targetPort"] in ports[component(service)], service["metadata"]["name"]
    for name, container in rendered.containers():
        for probe in probes(container):
            named = {probe[way]["port"] for way in ("httpGet", "tcpSocket") if way in probe}
            assert named <= ports[name], name
            numbers = [port["containerPort"] for port in container["ports"]]
            assert probe.get("grpc", {}).get("port", numbers[0]) in numbers, name


def probes(container: Manifest) -> list[Manifest]:
    return [container[name] for name in ("startupProbe", "readinessProbe", "livenessProbe") if name in container]


def test_every_process_has_all_three_probes_but_a_trainers_further_nodes(rendered: Rendered) -> None:
    without = [name for name, container in rendered.containers() if len(probes(container)) != 3]
    several = [component(one) for one in rendered.of("LeaderWorkerSet")]
    assert sorted(without) == sorted(["prepare", *several])


def test_each_process_listens_where_its_service_and_its_probe_look(rendered: Rendered) -> None:
    for name, container in rendered.containers():
        if name in KINDS and (listens := KINDS[name].listens):
            address = values(container)[f"HONE_{listens.upper()}_ADDRESS"]
            assert address.rpartition(":")[2] == str(FACTS[name]["port"])
            assert address.rpartition(":")[0] == ("$(POD_IP)" if name in {"inference", "simulation"} else "0.0.0.0")


def test_each_address_of_another_process_is_a_service(rendered: Rendered) -> None:
    services = {f"{one['metadata']['name']}:{port['port']}" for one in rendered.of("Service")
                for port in one["spec"]["ports"]}
    for name, container in rendered.containers():
        for variable, value in values(container).items():
            own = {METRICS, FACTS.get(name, {}).get("address")}
            if variable.endswith("_ADDRESS") and variable not in own:
                assert value in services, (name, variable)


def test_every_variable_is_a_setting_with_a_value_that_fits(rendered: Rendered) -> None:
    for name, container in rendered.containers():
        given = {one["name"]: one for one in container.get("env", [])}
        assert len(given) == len(container.get("env", [])), f"{name}: a variable twice"
        ours = {variable for variable in given if variable.startswith("HONE_")}
        assert ours <= VARIABLES.keys() | {"HONE_OWNER_DATABASE_URL"}, name
        read({variable: value for variable, value in values(container).items() if variable in VARIABLES})


def test_secrets_exist_and_have_the_keys_that_are_asked_for(rendered: Rendered) -> None:
    made = {"hone": KEYS} | {one["metadata"]["name"]: {**one.get("stringData", {}), **one.get("data", {})}.keys()
                             for one in rendered.of("Secret")}
    for name, container in rendered.containers():
        for variable in container.get("env", []):
            if asked := variable.get("valueFrom", {}).get("secretKeyRef"):
                assert asked["key"] in made[asked["name"]], (name, variable["name"])
    for name, pod in rendered.pods():
        for volume in pod["spec"]["volumes"]:
            assert "secret" not in volume or made[volume["secret"]["secretName"]] >= {"tls.crt", "tls.key"}, name


def test_a_process_gets_only_the_secrets_that_it_needs(rendered: Rendered) -> None:
    has = {name: {one["name"] for one in container.get("env", []) if "secretKeyRef" in one.get("valueFrom", {})}
           for name, container in rendered.containers()}
    assert {name for name, keys in has.items() if "HONE_OWNER_DATABASE_URL" in keys} == {"prepare"}
    assert has["console"] == set()
    assert has["sandbox"] == {"HONE_STACK_TOKEN"}
    assert {name for name, container in rendered.containers() if "envFrom" in container} <= {"sinks"}
    assert "HONE_DATABASE_URL" not in has["gateway"] | has["door"]
    assert not {"trainer", "sinks", "console"} & {name for name, keys in has.items() if "HONE_STACK_TOKEN" in keys}


def test_every_pod_gives_up_what_it_does_not_need(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        spec = pod["spec"]
        assert spec["enableServiceLinks"] is False, name
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        profile = "Unconfined" if name == "sandbox" else "RuntimeDefault"  # it makes user namespaces
        assert spec["securityContext"]["seccompProfile"] == {"type": profile}, name
        assert any("apparmor" in one for one in pod["metadata"].get("annotations", {})) == (name == "sandbox"), name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), name
        for container in (*spec["containers"], *spec.get("initContainers", [])):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def test_every_container_asks_for_resources_and_can_write_only_to_its_volumes(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        for container in pod["spec"]["containers"]:
            assert container["resources"]["requests"].keys() >= {"cpu", "memory"}, name
            assert "memory" in container["resources"]["limits"], name
            mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            assert mounted.keys() - {"data"} == {volume["name"] for volume in pod["spec"]["volumes"]}, name
            assert "/tmp" in mounted.values(), name
        assert not any("hostPath" in volume for volume in pod["spec"]["volumes"]), name


def test_a_process_has_longer_to_end_than_its_pause_and_its_own_grace(rendered: Rendered) -> None:
    for name, pod in rendered.pods():
        if name in KINDS:
            pause = 5 if "lifecycle" in pod["spec"]["containers"][0] else 0
            assert pod["spec"]["terminationGracePeriodSeconds"] >= FACTS[name]["grace"] + pause


def test_a_gpu_goes_to_engines_and_trainers_that_use_as_many(rendered: Rendered) -> None:
    for name, container in rendered.containers():
        gpus, given = container["resources"]["limits"].get("nvidia.com/gpu", 0), values(container)
        assert not gpus or name in {"inference", "trainer"}
        if gpus and name == "inference":
            assert (given["HONE_ENGINE"], given["HONE_VLLM_TENSOR_PARALLEL"]) == ("vllm", str(gpus))
        if gpus and name == "trainer":
            assert (given["HONE_TRAINER_DEVICE"], given["HONE_TRAINER_RANKS"]) == ("cuda", str(gpus))


@pytest.mark.parametrize("name", ["hardened", "all"])
def test_policies_let_through_the_calls_that_are_made_and_no_others(
    name: str, render_of: Callable[[str], Rendered]
) -> None:
    rendered = render_of(name)
    policies = {component(one): one["spec"] for one in rendered.of("NetworkPolicy")}
    pods = dict(rendered.pods())
    assert pods.keys() <= policies.keys()
    for caller, called in product(KINDS.keys() & pods.keys(), repeat=2):
        port, expected = FACTS[called].get("port"), called in FACTS[caller]["reaches"]
        out = any(lets_through(rule, pods.get(called), port) for rule in policies[caller]["egress"])
        into = any(lets_through(rule, pods.get(caller), port) for rule in policies[called]["ingress"])
        assert (out, into) == (expected, expected), (caller, called)


def lets_through(rule: Manifest, pod: Manifest | None, port: int | None) -> bool:
    """Return whether a rule names the pod by its labels, and the port."""
    peers = rule.get("to") or rule.get("from") or []
    named = [peer["podSelector"]["matchLabels"] for peer in peers if "podSelector" in peer]
    return bool(pod) and any(matches(labels, pod or {}) for labels in named) and {"port": port} in rule.get("ports", [])


def test_images_come_from_the_registry_that_is_named(rendered: Rendered) -> None:
    images = {container["image"] for _, container in rendered.containers()}
    mirrored = {image for image in images if image.startswith("mirror.example/hone/")}
    assert mirrored in (set(), images)


def test_facts_name_every_kind_and_the_chart_names_no_unknown_variable() -> None:
    assert FACTS.keys() == KINDS.keys()
    for name, fact in FACTS.items():
        assert ("port" in fact) == (KINDS[name].listens is not None)
        assert set(fact["reaches"]) <= FACTS.keys()
    known = VARIABLES.keys() | OTHER_VARIABLES
    for path in (one for one in CHART.rglob("*") if one.is_file() and one.name != "alerts.yml"):
        assert named(path) <= known, path


def named(path: Path) -> set[str]:
    return set(re.findall(r"\bHONE_[A-Z_]+[A-Z]\b", path.read_text()))
