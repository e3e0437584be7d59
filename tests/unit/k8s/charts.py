"""The rendered chart: what a cluster would get, as parsed YAML."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "k8s" / "hone"
TOOLS = ROOT / ".cache" / "kubernetes"
Manifest = dict[str, Any]

_FILES = {name: ["-f", str(CHART / "values" / f"{name}.yaml")] for name in ("demo", "gpu", "hardened")}
SETS: dict[str, list[str]] = {
    "default": [],
    **_FILES,
    "all": [*_FILES["demo"], *_FILES["gpu"], *_FILES["hardened"],
            "--set", "trainer.nodes=2,sinks.replicas=1,sinks.secret=wandb",
            "--set", "images.registry=mirror.example/hone/"],
}
"""The options of helm by the name of a set of values."""


def absent() -> str | None:
    """Return why the chart cannot be rendered here, or None."""
    found = (TOOLS / "bin" / "helm").exists()
    return None if found else "helm is not in .cache/kubernetes (make deps fetches it for x86-64)"


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run helm and return how it ended."""
    return subprocess.run([TOOLS / "bin" / "helm", *arguments], capture_output=True, text=True, check=False, timeout=60)


@dataclass(frozen=True)
class Rendered:
    """What the chart makes of one set of values."""

    text: str

    @cached_property
    def manifests(self) -> list[Manifest]:
        return [manifest for manifest in yaml.safe_load_all(self.text) if manifest]

    def of(self, *kinds: str) -> list[Manifest]:
        """Return the manifests of some kinds."""
        return [manifest for manifest in self.manifests if manifest["kind"] in kinds]

    def pods(self) -> Iterator[tuple[str, Manifest]]:
        """Yield each pod's component and template: {metadata, spec}."""
        for manifest in self.of("Deployment", "StatefulSet", "Job"):
            yield component(manifest), manifest["spec"]["template"]
        for manifest in self.of("LeaderWorkerSet"):
            for role in ("leaderTemplate", "workerTemplate"):
                yield component(manifest), manifest["spec"]["leaderWorkerTemplate"][role]

    def containers(self) -> Iterator[tuple[str, Manifest]]:
        """Yield each container with its pod's component."""
        for name, pod in self.pods():
            for container in pod["spec"]["containers"]:
                yield name, container


def render(options: list[str], release: str = "hone") -> Rendered:
    """Render the chart. Raises RuntimeError with helm's message."""
    ended = helm("template", release, str(CHART), "--namespace", "training", *options)
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    return Rendered(ended.stdout)


def component(manifest: Manifest) -> str:
    """Return the kind of process, or the server, that a manifest belongs to."""
    return str(manifest["metadata"]["labels"]["app.kubernetes.io/component"])


def matches(selector: Manifest, pod: Manifest) -> bool:
    """Return whether a selector's labels are among those of a pod's template."""
    return bool(selector.items() <= pod["metadata"]["labels"].items())
