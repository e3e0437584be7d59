"""Manifests, held against the schemas of Kubernetes."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.unit.k8s.charts import TOOLS, Rendered

OLDEST, NEWEST = "1.27", "1.37"
CUSTOM = {"Certificate", "ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule", "LeaderWorkerSet"}
"""Kinds of other projects, for which there is no schema: test_custom.py looks at them."""


def plain(rendered: Rendered) -> list[str]:
    """Return the text of each manifest that has a schema."""
    texts = rendered.text.split("\n---\n")
    kept = [text for text in texts if not any(f"\nkind: {kind}\n" in text for kind in CUSTOM)]
    assert len(kept) + len(rendered.of(*CUSTOM)) == len(rendered.manifests)
    return kept


def write(manifests: Iterable[str], path: Path) -> Path:
    path.write_text("\n---\n".join(manifests))
    return path


def validated(version: str, file: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(TOOLS / "venv" / "bin" / "kubernetes-validate"), "--strict", "-k", version, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
