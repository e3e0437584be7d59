"""The pods of a rendered chart as processes of this machine: commands, variables and probes are those of the manifests.

What a cluster gives a pod, it gets here: a name, an IP of its own (of the loopback network), the Secret's values, and
Services, each of which leads to its first pod.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.unit.k8s.charts import ROOT, Manifest, Rendered, component, matches

_IMAGE = ROOT / "deploy" / "Dockerfile.native"
_METRICS = 9464

_CONFINED = """
set -e
if test -n "$1"; then mount --bind "$1" /mnt; fi
mount -t tmpfs -o mode=1777 tmpfs /tmp
if test -n "$1"; then mkdir -p "$1"; mount --bind /mnt "$1"; umount /mnt; mount -o remount,bind,ro "$1"; fi
mount -o remount,bind,ro /
shift
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
"""
"""Runs a command that has no capabilities and can write to a /tmp of its own only; it sees the files of $1."""


@dataclass
class Pod:
    """One pod. `process` is its container's process, once it is started."""

    name: str
    kind: str
    ip: str
    template: Manifest
    environment: dict[str, str] = field(default_factory=dict)
    mounts: dict[str, dict[str, bytes]] = field(default_factory=dict)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def container(self) -> Manifest:
        [container] = self.template["spec"]["containers"]
        return container

    def start(self, logs: Path) -> None:
        """Start the container's process, with what is mounted for it below `logs`."""
        for path, files in self.mounts.items():
            place = logs / self.name
            place.mkdir()
            for name, content in files.items():
                (place / name).write_bytes(content)
            self.environment = {name: value.replace(path, str(place)) for name, value in self.environment.items()}
        command = [_expanded(word, self.environment) for word in self.container["command"]]
        with (logs / f"{self.name}.log").open("wb") as log:
            self.process = subprocess.Popen(confined(command, str(logs)), env=self.environment, cwd="/", stdout=log,
                                            stderr=log)

    def run(self, *command: str) -> str:
        """Run a command beside the process, as kubectl exec does, and return what it prints."""
        ended = subprocess.run(
            confined(command), env=self.environment, cwd="/", capture_output=True, text=True, check=True, timeout=60)
        return ended.stdout

    def passes(self, probe: str) -> bool:
        """Return whether the pod passes a probe now, or has none. Raises AssertionError if its process has ended."""
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} has ended"
        asked = self.container.get(probe, {})
        try:
            if "exec" in asked:
                self.run(*asked["exec"]["command"])
            elif "grpc" in asked:
                return _serves(f"{self.ip}:{asked['grpc']['port']}")
            elif "tcpSocket" in asked:
                socket.create_connection((self.ip, self.port(asked["tcpSocket"]["port"])), 5).close()
            elif "httpGet" in asked:
                self.get(self.port(asked["httpGet"]["port"]), asked["httpGet"]["path"])
        except (OSError, subprocess.CalledProcessError, grpc.RpcError):
            return False
        return True

    def port(self, name: str) -> int:
        """Return the number of a port of the container."""
        return next(int(port["containerPort"]) for port in self.container["ports"] if port["name"] == name)

    def get(self, port: int, path: str) -> bytes:
        """Return the body at a path of the pod. Raises OSError."""
        with urllib.request.urlopen(f"http://{self.ip}:{port}{path}", timeout=60) as answer:
            return bytes(answer.read())

    def end(self) -> None:
        """End the process as the kubelet does. Raises subprocess.TimeoutExpired after the pod's grace, and kills it."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(self.template["spec"]["terminationGracePeriodSeconds"])
        finally:
            self.process.kill()


def confined(command: Sequence[str], shown: str = "") -> list[str]:
    """Return the command with a pod's rights, see _CONFINED; as it is, where this user may not mount."""
    if not _can_mount():
        return list(command)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", _CONFINED, "sh", shown, *command]


@cache
def _can_mount() -> bool:
    return bool(shutil.which("setpriv")) and not os.geteuid() and not subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False).returncode


def of(rendered: Rendered, network: str, secret: Mapping[str, str]) -> list[Pod]:
    """Return the pods of a rendered chart, Jobs first; `network` is that of their IPs: 127.3.4."""
    pods = [Pod(name, kind, f"{network}.{number}", template)
            for number, (name, kind, template) in enumerate(_templates(rendered), 1)]
    services = {one["metadata"]["name"]: _first(one["spec"]["selector"], pods) for one in rendered.of("Service")}
    for pod in pods:
        pod.environment = _image_environment() | _environment(pod, services, secret)
        pod.mounts = _mounts(pod, rendered)
        if pod.kind == "sandbox":  # root without capabilities, as here, may make no user namespace; user 10001 may
            pod.environment["HONE_SANDBOX_ISOLATION"] = "none"
    for group in rendered.of("LeaderWorkerSet"):
        _join([pod for pod in pods if pod.kind == component(group)])
    return pods


def _templates(rendered: Rendered) -> Iterator[tuple[str, str, Manifest]]:
    for manifest in rendered.of("Job") + rendered.of("Deployment", "StatefulSet"):
        for number in range(manifest["spec"].get("replicas", 1)):
            yield f"{manifest['metadata']['name']}-{number}", component(manifest), manifest["spec"]["template"]
    for manifest in rendered.of("LeaderWorkerSet"):
        name, group = f"{manifest['metadata']['name']}-0", manifest["spec"]["leaderWorkerTemplate"]
        yield name, component(manifest), group["leaderTemplate"]
        for number in range(1, group["size"]):
            yield f"{name}-{number}", component(manifest), group["workerTemplate"]


def _join(group: list[Pod]) -> None:
    """Give the pods of a group the variables by which LeaderWorkerSet lets them meet."""
    for number, pod in enumerate(group):
        pod.environment |= {"LWS_LEADER_ADDRESS": group[0].ip, "LWS_GROUP_SIZE": str(len(group)),
                            "LWS_WORKER_INDEX": str(number)}


def _first(selector: Manifest, pods: list[Pod]) -> str:
    return next((pod.ip for pod in pods if matches(selector, pod.template)), "")


def _image_environment() -> dict[str, str]:
    """Return the variables that the image sets, with this interpreter's programs first on the path."""
    [block] = re.findall(r"^ENV PIP.*(?:\n .*)*", _IMAGE.read_text(), re.MULTILINE)
    set_there = dict(re.findall(r"(\w+)=(\S+)", block))
    return {**set_there, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def _environment(pod: Pod, services: Mapping[str, str], secret: Mapping[str, str]) -> dict[str, str]:
    fields = {"metadata.name": pod.name, "status.podIP": pod.ip}
    found: dict[str, str] = {}
    for variable in pod.container["env"]:
        source: dict[str, Any] = variable.get("valueFrom", {})
        if "fieldRef" in source:
            value = fields[source["fieldRef"]["fieldPath"]]
        elif "secretKeyRef" in source:
            value = secret[source["secretKeyRef"]["key"]]
        else:
            value = _expanded(variable["value"], found)
        found[variable["name"]] = _placed(value, pod.ip, services)
    return found


def _mounts(pod: Pod, rendered: Rendered) -> dict[str, dict[str, bytes]]:
    """Return the files of each Secret that is mounted, by the path of the mount."""
    made = {one["metadata"]["name"]: one["data"] for one in rendered.of("Secret") if "data" in one}
    secrets = {one["name"]: made[one["secret"]["secretName"]] for one in pod.template["spec"]["volumes"]
               if "secret" in one}
    return {mount["mountPath"]: {name: b64decode(content) for name, content in secrets[mount["name"]].items()}
            for mount in pod.container["volumeMounts"] if mount["name"] in secrets}


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], text)


def _placed(value: str, ip: str, services: Mapping[str, str]) -> str:
    """Return an address with a Service's IP for its name; every interface of a pod is its own IP."""
    host, _, port = value.rpartition(":")
    return f"{ {**services, '0.0.0.0': ip}.get(host, host)}:{port}" if host else value


def _serves(address: str) -> bool:
    with grpc.insecure_channel(address) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=60)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
