"""What a cluster's administrator chooses reaches every pod that it is about, and what cannot work is refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.k8s.schemas import NEWEST, plain, validated, write
from tests.support.k8s.semantics import KEYS, SERVERS, values
from tests.unit.k8s import charts
from tests.unit.k8s.charts import CHART, ROOT, SETS, Manifest, Rendered, component

Render = Callable[[str], Rendered]
PLACE = {
    "annotations": {"team": "rl"}, "labels": {"cost": "7"}, "serviceAccountName": "trains", "priorityClassName": "low",
    "runtimeClassName": "nvidia", "nodeSelector": {"pool": "cpu"}, "tolerations": [{"operator": "Exists"}],
    "affinity": {"nodeAffinity": {}}, "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]}


@pytest.fixture
def made(need: Callable[[str | None], None]) -> Callable[..., Rendered]:
    need(charts.absent())
    return lambda *options, release="hone": charts.render([*options], release)


def test_every_pod_is_placed_as_its_kind_or_all_are(made: Callable[..., Rendered]) -> None:
    rendered = made(*SETS["demo"], "--set-json", f"pods={json.dumps(PLACE)}",
                    "--set-json", 'trainer.nodeSelector={"pool":"gpu"}')
    for name, pod in rendered.pods():
        expected = {**PLACE, "nodeSelector": {"pool": "gpu" if name == "trainer" else "cpu"}}
        annotations = {key: value for key, value in pod["metadata"]["annotations"].items() if "apparmor" not in key}
        found = {**pod["spec"], "annotations": annotations}
        assert pod["metadata"]["labels"]["cost"] == "7", name
        assert {key: found[key] for key in expected.keys() - {"labels"}} == {
            key: value for key, value in expected.items() if key != "labels"}, name


def test_a_secret_may_have_keys_of_its_own(made: Callable[..., Rendered]) -> None:
    keys = {name: name.lower().replace("_", "-") for name in KEYS}
    rendered = made(*SETS["hardened"], "--set-json", f"secret.keys={json.dumps(keys)}", "--set", "secret.existing=rl")
    for name, container in rendered.containers():
        for variable in container["env"]:
            if asked := variable.get("valueFrom", {}).get("secretKeyRef"):
                assert asked == {"name": "rl", "key": keys[variable["name"]]}, name
    (login,) = rendered.of("TriggerAuthentication")
    assert login["spec"]["secretTargetRef"][0]["key"] == "hone-database-url"


@pytest.mark.parametrize("kind", ["configMap", "secret"])
def test_every_process_trusts_the_authorities_that_are_given(kind: str, made: Callable[..., Rendered]) -> None:
    rendered = made(*SETS["demo"], "--set", f"trust.{kind}=authorities,trust.key=all.pem")
    for name, pod in rendered.pods():
        if name in SERVERS:
            continue
        (volume,) = (one for one in pod["spec"]["volumes"] if one["name"] == "trust")
        assert "authorities" in json.dumps(volume), name
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])):
            (mount,) = (one for one in container["volumeMounts"] if one["name"] == "trust")
            for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PGSSLROOTCERT"):
                assert values(container)[variable] == f"{mount['mountPath']}/all.pem", name


@pytest.mark.parametrize("kind", ["configMap", "secret"])
def test_the_simulation_alone_has_the_operators_file_of_worlds(kind: str, made: Callable[..., Rendered]) -> None:
    rendered = made(*SETS["demo"], "--set", f"simulation.worlds.{kind}=far,simulation.worlds.key=all.yaml")
    for name, pod in rendered.pods():
        volumes = [one for one in pod["spec"].get("volumes", []) if one["name"] == "worlds"]
        assert len(volumes) == (name == "simulation"), name
        for container in pod["spec"]["containers"] if volumes else []:
            (mount,) = (one for one in container["volumeMounts"] if one["name"] == "worlds")
            assert "far" in json.dumps(volumes)
            assert values(container)["HONE_WORLDS"] == f"{mount['mountPath']}/all.yaml"


def test_two_releases_of_one_namespace_share_nothing_however_long_their_names(made: Callable[..., Rendered]) -> None:
    longest = "a" * 52
    names: list[set[tuple[str, str]]] = []
    for release in ("hone", "a", f"{longest}x", f"{longest}y"):
        rendered = made(*SETS["demo"], *SETS["hardened"], release=release)
        names.append({(one["kind"], one["metadata"]["name"]) for one in rendered.manifests})
        assert all(len(name) <= 52 for _, name in names[-1]), "a StatefulSet's pods need 11 more"
    assert sum(map(len, names)) == len(set[tuple[str, str]]().union(*names))


def test_an_ipv6_cluster_is_listened_on(made: Callable[..., Rendered]) -> None:
    for name, container in made("--set", "ipv6=true").containers():
        own = {key: value for key, value in values(container).items() if key.endswith("_ADDRESS") and "[" in value}
        assert own["HONE_METRICS_ADDRESS"] == "[::]:9464"
        assert all(re.fullmatch(r"\[(::|\$\(POD_IP\))\]:\d+", value) for value in own.values()), name


def test_pods_beside_bundled_servers_wait_for_their_tables(render_of: Render) -> None:
    for name, pod in render_of("demo").pods():
        waits = [one["command"] for one in pod["spec"].get("initContainers", [])]
        expected = ["python", "-m", "hone.stack.container", "wait", name]
        assert waits == ([] if name in {*SERVERS, "prepare", "console"} else [expected]), name
    assert not any("initContainers" in pod["spec"] for _, pod in render_of("default").pods())


def test_the_policy_of_prepare_is_there_before_it(made: Callable[..., Rendered]) -> None:
    policy = next(one for one in made(*SETS["hardened"]).of("NetworkPolicy") if component(one) == "prepare")
    assert policy["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert int(policy["metadata"]["annotations"]["helm.sh/hook-weight"]) < 0
    both = made(*SETS["hardened"], *SETS["demo"])
    policy = next(one for one in both.of("NetworkPolicy") if component(one) == "prepare")
    assert "annotations" not in policy["metadata"]


def test_the_doors_certificate_is_made_or_issued_for_its_names(made: Callable[..., Rendered]) -> None:
    full = "hone-door.training.svc"
    names = ["hone-door", "hone-door.training", full, f"{full}.corp", "localhost", "x"]
    options = ["--set", "clusterDomain=corp,door.tls.names={x}"]
    (secret,) = made(*options).of("Secret")
    assert secret["metadata"]["annotations"]["hone/names"] == ",".join(names)
    issued = made(*options, "--set", "door.tls.issuer.name=ours,door.tls.issuer.kind=ClusterIssuer")
    (certificate,) = issued.of("Certificate")
    assert certificate["spec"]["dnsNames"] == names
    assert not issued.of("Secret")
    door = next(pod for name, pod in issued.pods() if name == "door")
    mounted = [one["secret"]["secretName"] for one in door["spec"]["volumes"] if "secret" in one]
    assert mounted == [certificate["spec"]["secretName"]]


def test_an_ingress_leads_to_a_port_of_the_service(made: Callable[..., Rendered]) -> None:
    rendered = made("--set", "ingress.gateway.host=api.example,ingress.console.host=rl.example,ingress.className=nginx",
                    "--set", "ingress.gateway.tlsSecret=api-tls")
    services = {one["metadata"]["name"]: {port["name"] for port in one["spec"]["ports"]}
                for one in rendered.of("Service")}
    rules = [(rule["host"], path["backend"]["service"]) for one in rendered.of("Ingress")
             for rule in one["spec"]["rules"] for path in rule["http"]["paths"]]
    assert {(host, service["name"]) for host, service in rules} == {
        ("rl.example", "hone-console"), ("api.example", "hone-gateway")}
    assert all(service["port"]["name"] in services[service["name"]] for _, service in rules)
    assert [one["spec"]["tls"] for one in rendered.of("Ingress") if "tls" in one["spec"]] == [
        [{"hosts": ["api.example"], "secretName": "api-tls"}]]


def test_choices_of_single_pods(made: Callable[..., Rendered]) -> None:
    secret = '[{"name":"TOKEN","valueFrom":{"secretKeyRef":{"name":"t","key":"k"}}}]'
    rendered = made(*SETS["gpu"], "--set", "pods.user=0,gpuResource=amd.com/gpu,images.services=s@sha256:ab",
                    "--set-json", f"reward.env={secret}")
    containers: dict[str, Manifest] = dict(rendered.containers())
    assert {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "t", "key": "k"}}} in containers["reward"]["env"]
    assert containers["trainer"]["resources"]["limits"]["amd.com/gpu"] == 4
    assert containers["gateway"]["image"] == "s@sha256:ab"
    for name, pod in rendered.pods():
        profile = {"type": "Unconfined" if name == "sandbox" else "RuntimeDefault"}
        assert pod["spec"]["securityContext"] == {"runAsNonRoot": True, "seccompProfile": profile}


def test_what_is_chosen_fits_the_schemas(made: Callable[..., Rendered], tmp_path: Path) -> None:
    rendered = made(*SETS["demo"], "--set-json", f"pods={json.dumps(PLACE)}", "--set", "ipv6=true,trust.secret=ca",
                    "--set", "ingress.gateway.host=a.example,ingress.gateway.tlsSecret=a,ingress.className=nginx")
    kinds = re.compile("^kind: (Deployment|StatefulSet|Job|Ingress)$", re.MULTILINE)
    texts = [text for text in plain(rendered) if kinds.search(text)]
    ended = validated(NEWEST, write(texts, tmp_path / "chosen.yaml"))
    assert (ended.returncode, ended.stdout.count("passed")) == (0, len(texts)), ended.stdout


def test_the_readmes_commands_name_files_and_values_that_exist(made: Callable[..., Rendered]) -> None:
    readme = (ROOT / "k8s" / "README.md").read_text()
    files = re.findall(r"docker build -f (\S+)", readme)
    assert [one for one in files if not (ROOT / one).exists()] == []
    (options,) = re.findall(r"^helm install hone k8s/hone (--set \S+) --wait --timeout 15m$", readme, re.MULTILINE)
    rendered = made(*options.replace("$R", "registry.example").split())
    images = {container["image"] for _, container in rendered.containers()}
    assert images == set(re.findall(r"-t (\S+) ", readme.replace("$R", "registry.example"))) - {
        "registry.example/hone-vllm:0.1.0"}
    assert set(re.findall(r"^(HONE_[A-Z_]+)=", readme, re.MULTILINE)) - {"HONE_API_KEY"} == KEYS
    workloads = {f"deploy/{one['metadata']['name']}" for one in rendered.of("Deployment")}
    assert set(re.findall(r"kubectl exec (\S+)", readme)) <= workloads
    services = {f"svc/{one['metadata']['name']}" for one in rendered.of("Service")}
    assert set(re.findall(r"svc/[a-z-]+", readme)) <= services


@pytest.mark.parametrize(("options", "said"), [
    ("settings.HONE_LEASES=5", "invalid propertyName 'HONE_LEASES'"),
    ("rollout.settings.HONE_DATABASE_URL=x", "invalid propertyName 'HONE_DATABASE_URL'"),
    ("secret.keys.HONE_URL=x", "'HONE_URL' not allowed"), ("console.replicas=2", "'/console/replicas'"),
    ("autoscaling.inference.min=0", "'/autoscaling/inference/min'"),
    ("autoscaling.enabled=true,autoscaling.rollout.min=9,autoscaling.rollout.max=2",
     "autoscaling.rollout: found min 9 above max 2"),
    ("inference.gpus=1", "inference.gpus: found 1, expected 0: the native engine computes on CPUs"),
])
def test_what_cannot_work_is_refused_by_its_name(
    options: str, said: str, need: Callable[[str | None], None]
) -> None:
    need(charts.absent())
    ended = charts.helm("template", "hone", str(CHART), "--set", options)
    assert ended.returncode == 1
    assert said in ended.stderr
