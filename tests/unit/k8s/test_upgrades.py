"""What a second `helm upgrade` finds in the cluster stays: passwords of bundled servers, the door's certificate."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.k8s import api_server, charts
from tests.unit.k8s.charts import CHART, SETS, Manifest, Rendered

OWNED = {"meta.helm.sh/release-name": "hone", "meta.helm.sh/release-namespace": "training"}


@pytest.fixture
def installed(render_of: Callable[[str], Rendered]) -> list[Manifest]:
    """The Secrets of a first installation, as the cluster has them."""
    return [stored(one) for one in render_of("demo").of("Secret")]


def stored(secret: Manifest) -> Manifest:
    about = {**secret["metadata"], "annotations": {**secret["metadata"].get("annotations", {}), **OWNED}}
    return {**secret, "metadata": about, "data": data(secret)}


def data(secret: Manifest) -> dict[str, Any]:
    given = {key: b64encode(text.encode()).decode() for key, text in secret.get("stringData", {}).items()}
    return {**secret.get("data", {}), **given}


def again(installed: list[Manifest], *options: str) -> dict[str, dict[str, Any]]:
    """Render the chart beside these Secrets; return the data of each Secret by its name."""
    with api_server.serving(installed, "training") as url:
        ended = charts.helm(
            "template", "hone", str(CHART), "--namespace", "training", *SETS["demo"], *options, "--dry-run=server",
            "--disable-openapi-validation", "--kube-apiserver", url)
    assert ended.returncode == 0, ended.stderr
    return {one["metadata"]["name"]: data(one) for one in Rendered(ended.stdout).of("Secret")}


def test_an_upgrade_draws_nothing_anew(installed: list[Manifest]) -> None:
    assert again(installed) == {one["metadata"]["name"]: one["data"] for one in installed}


def test_a_certificate_of_other_names_is_made_anew_and_passwords_stay(installed: list[Manifest]) -> None:
    before = {one["metadata"]["name"]: one["data"] for one in installed}
    found = again(installed, "--set", "door.tls.names={rl.example}")
    assert found["hone"] == before["hone"]
    assert found["hone-door"]["tls.crt"] != before["hone-door"]["tls.crt"]
    assert found["hone-door"]["ca.crt"] == found["hone-door"]["tls.crt"]
    assert b64decode(found["hone-door"]["tls.key"]).startswith(b"-----BEGIN")


def test_a_secret_that_lost_a_key_gets_it_back(installed: list[Manifest]) -> None:
    for one in installed:
        one["data"].pop("WORKER_PASSWORD", None)
    [before] = (one["data"] for one in installed if one["metadata"]["name"] == "hone")
    found = again(installed)["hone"]
    assert found["POSTGRES_PASSWORD"] == before["POSTGRES_PASSWORD"]
    assert b64decode(found["WORKER_PASSWORD"]) in b64decode(found["HONE_DATABASE_URL"])
    assert json.dumps(before) != json.dumps(found)
