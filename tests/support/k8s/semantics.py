"""Values of the chart."""

import re

from tests.unit.k8s.charts import CHART, Manifest

SERVERS = {"postgres", "rabbitmq", "objects"}
KEYS = set(re.findall(r"\bHONE_[A-Z_]+", (CHART / "values.yaml").read_text().partition("bundled:")[0]))
"""The keys that a Secret of one's own has, as values.yaml says."""


def values(container: Manifest) -> dict[str, str]:
    """Return a container's variables that have a value in the manifest."""
    return {one["name"]: one["value"] for one in container.get("env", []) if "value" in one}
