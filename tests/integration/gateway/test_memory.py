"""Uploads and downloads pass in pieces: the gateway's peak memory grows by less than their size."""

import re
from pathlib import Path

import pytest

from hone.client import Client
from hone.models import toy
from tests.integration.gateway import seed
from tests.integration.gateway.conftest import Gateway
from tests.integration.gateway.seed import Seeded
from tests.servers.postgres import TestDatabase

pytestmark = pytest.mark.alone

ALLOWED_MB = 48


def peak_mb(gateway: Gateway) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{gateway.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.write(tmp_path_factory.mktemp("large"), hidden=1024, layers=3, heads=16, head_dim=64, ffn=3072)


def test_a_large_model_is_registered_and_an_export_of_it_downloaded(
    gateway: Gateway, hone: Client, tenant: str, seeded: Seeded, large: Path, postgres: TestDatabase,
) -> None:
    weights = large / "model.safetensors"
    assert weights.stat().st_size > 2 * ALLOWED_MB * 2**20
    hone.models()
    before = peak_mb(gateway)
    assert hone.register_model("large", large).name == "large"
    export = hone.create_export(seeded.run.id)
    seed.finish_export(postgres.owner_url, gateway.objects, export.id, {weights.name: weights.read_bytes()})
    with gateway.http(tenant) as http:
        for path in (f"files/{weights.name}", "archive"):
            with http.stream("GET", f"/v1/exports/{export.id}/{path}") as answer:
                assert sum(map(len, answer.iter_bytes())) >= weights.stat().st_size
    assert peak_mb(gateway) - before < ALLOWED_MB
