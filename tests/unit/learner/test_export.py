"""An export is compared with the probe in its version's manifest, and other files are refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hone.models import probe, toy
from hone.models.checkpoint import Checkpoint
from hone.models.exporting import ExportRefused
from hone.models.policy import Policy
from hone.store import manifests, objects
from services.learner.trainer import export

pytestmark = pytest.mark.usefixtures("stock_here")


def files(seed: int) -> dict[str, bytes]:
    made = toy.files(seed, hidden=32, heads=2, head_dim=16, ffn=64)
    return {**made, "generation_config.json": b'{"eos_token_id": 2, "temperature": 0.6}'}


def exported(folder: Path, noted: dict[str, Any]) -> dict[str, Any]:
    """Export a version of these weights whose manifest notes something besides its files."""
    store: Any = objects.connect(f"file://{folder}")
    manifest = {"files": manifests.put_files(store, "version", files(3)), **noted}
    row = {"id": "ver_1", "manifest": manifest, "weights_deleted_at": None}
    database: Any = SimpleNamespace(one=lambda _, **__: row)
    lease: Any = SimpleNamespace(model_id="model_1")
    return export._export(database, store, lease, "ver_1")


def noted(seed: int) -> dict[str, Any]:
    made = Checkpoint.from_files(files(seed))
    return {"probe": probe.expected(Policy(made.architecture, made.tensors)).to_json()}


@pytest.mark.parametrize(("manifest", "compared_with"), [(noted(3), "probe"), ({}, "forward")])
def test_the_record_says_what_an_export_was_compared_with(
    manifest: dict[str, Any], compared_with: str, tmp_path: Path
) -> None:
    record = exported(tmp_path, manifest)
    assert (record["version_id"], record["compared_with"]) == ("ver_1", compared_with)
    assert record["max_abs_diff"] < 1e-5
    assert "model.safetensors" in record["files"]
    assert record["sampling_defaults"] == {"temperature": 0.6}, "the file is kept, and stock engines read it"
    assert "generation_config.json" in record["files"]


def test_weights_that_are_not_those_the_trainer_noted_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportRefused, match="found a difference of"):
        exported(tmp_path, noted(4))
