"""The list of images for a mirror is complete, and bundled servers are those of the Compose file."""

import os
import re
import subprocess
from collections.abc import Callable

import pytest
import yaml

from tests.unit.k8s.charts import CHART, ROOT, SETS, TOOLS, Rendered


@pytest.mark.parametrize("name", ["demo", "all"])
def test_the_list_names_every_image_once(name: str, render_of: Callable[[str], Rendered]) -> None:
    used = {container["image"] for _, container in render_of(name).containers()}
    environment = {**os.environ, "HELM": str(TOOLS / "bin" / "helm")}
    listed = subprocess.run([ROOT / "k8s" / "images.sh", *SETS[name]], env=environment, capture_output=True, text=True,
                            check=True, timeout=60).stdout.split()
    assert listed == sorted(used)


def test_bundled_servers_are_those_of_the_compose_file() -> None:
    text = "".join((ROOT / name).read_text() for name in ("docker-compose.yml", "deploy/objects/minio.yml"))
    pulled = set(re.findall(r"image: \$\{[A-Z_]+_IMAGE:-([^}]+)\}", text))
    images = yaml.safe_load((CHART / "values.yaml").read_text())["images"]
    assert {images[name] for name in ("postgres", "rabbitmq", "objects")} <= pulled
