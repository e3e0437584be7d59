"""Manifests of KEDA, the Prometheus operator and LeaderWorkerSet: what the README of each project asks for."""

from collections.abc import Callable

import yaml

from hone.stack.processes import KINDS
from tests.unit.k8s.charts import CHART, ROOT, Manifest, Rendered, component, matches

Render = Callable[[str], Rendered]


def test_keda_scales_workloads_that_exist_and_leave_their_number_to_it(render_of: Render) -> None:
    rendered = render_of("hardened")
    workloads = {(one["kind"], one["metadata"]["name"]): one for one in rendered.of("Deployment", "StatefulSet")}
    scaled = [one["spec"] for one in rendered.of("ScaledObject")]
    for spec in scaled:
        target = spec["scaleTargetRef"]
        assert "replicas" not in workloads[target["kind"], target["name"]]["spec"]
        assert 0 < spec["minReplicaCount"] <= spec["maxReplicaCount"]
    without = {component(one) for one in workloads.values() if "replicas" not in one["spec"]}
    assert without == {"rollout", "inference"}
    assert len(scaled) == 2


def test_kedas_triggers_log_in_with_the_workers_url(render_of: Render) -> None:
    rendered = render_of("hardened")
    (login,) = rendered.of("TriggerAuthentication")
    assert login["spec"]["secretTargetRef"] == [{"parameter": "connection", "name": "hone", "key": "HONE_DATABASE_URL"}]
    for trigger in triggers(rendered):
        assert trigger["type"] == "postgresql"
        assert trigger["metricType"] == "AverageValue"
        assert trigger["authenticationRef"]["name"] == login["metadata"]["name"]
        assert all(isinstance(value, str) for value in trigger["metadata"].values())


def triggers(rendered: Rendered) -> list[Manifest]:
    return [trigger for one in rendered.of("ScaledObject") for trigger in one["spec"]["triggers"]]


def test_the_monitor_finds_every_process_and_names_its_job_as_the_rules_do(render_of: Render) -> None:
    rendered = render_of("hardened")
    (monitor,) = rendered.of("PodMonitor")
    assert monitor["spec"]["jobLabel"] == "app.kubernetes.io/component"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    found = {name for name, pod in rendered.pods() if matches(monitor["spec"]["selector"]["matchLabels"], pod)
             and endpoint["port"] in {port["name"] for port in pod["spec"]["containers"][0].get("ports", [])}}
    assert found - {"prepare"} == KINDS.keys() - {"sinks"}


def test_the_rules_are_those_of_the_deployment(render_of: Render) -> None:
    (rule,) = render_of("hardened").of("PrometheusRule")
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text())
    assert (CHART / "files" / "alerts.yml").is_symlink()


def test_nothing_of_another_project_is_asked_for_unless_it_is_chosen(render_of: Render) -> None:
    known = {"Deployment", "StatefulSet", "Service", "Job", "Secret", "PodDisruptionBudget"}
    for name in ("default", "demo", "gpu"):
        assert {one["kind"] for one in render_of(name).manifests} <= known


def test_a_trainer_of_several_nodes_is_one_group_that_meets_at_its_first_pod(render_of: Render) -> None:
    rendered = render_of("all")
    (group,) = rendered.of("LeaderWorkerSet")
    template = group["spec"]["leaderWorkerTemplate"]
    assert (template["size"], template["restartPolicy"]) == (2, "RecreateGroupOnPodRestart")
    for role in ("leaderTemplate", "workerTemplate"):
        command = template[role]["spec"]["containers"][0]["command"]
        options = dict(zip(command[3:-4:2], command[4:-4:2], strict=True))
        assert options["--nnodes"] == "$(LWS_GROUP_SIZE)"
        assert options["--node-rank"] == "$(LWS_WORKER_INDEX)"
        assert options["--master-addr"] == "$(LWS_LEADER_ADDRESS)"
        assert options["--nproc-per-node"] == "4"
        assert command[-4:] == ["-m", "hone.stack.container", "run", "trainer"]
    assert not [one for one in rendered.of("StatefulSet") if component(one) == "trainer"]
