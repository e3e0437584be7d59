"""Exports load in stock transformers and are compared; what differs or does not load is refused."""

import json

import pytest

from hone.models import exporting, toy
from hone.models.checkpoint import Checkpoint
from hone.models.exporting import ExportRefused, hf_files, verify


def small():
    return toy.files(3, hidden=32, heads=2, head_dim=16, ffn=64)


def written(directory, files):
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory


def test_an_export_computes_the_same_in_stock_transformers(tmp_path):
    files = hf_files(small())
    assert verify(written(tmp_path, files)) < 1e-5
    assert files["model.safetensors"] == small()["model.safetensors"]


def test_the_config_says_the_weights_dtype():
    files = small()
    config = {**json.loads(files["config.json"]), "torch_dtype": "bfloat16", "dtype": "bfloat16"}
    exported = json.loads(hf_files({**files, "config.json": json.dumps(config).encode()})["config.json"])
    assert exported["dtype"] == "float32"
    assert "torch_dtype" not in exported


def test_a_stock_engine_that_computes_something_else_is_found_out(tmp_path, monkeypatch):
    probes = exporting.probe(Checkpoint.from_files(small()))
    probes["logp"][1][5] += 0.01  # type: ignore[call-overload]
    monkeypatch.setattr(exporting, "probe", lambda _: probes)
    with pytest.raises(ExportRefused, match=r"found a difference of 0\.0"):
        verify(written(tmp_path, hf_files(small())))


def test_a_directory_that_does_not_load_is_refused(tmp_path, monkeypatch):
    directory = written(tmp_path, hf_files(small()))
    probes = exporting.probe(Checkpoint.from_files(small()))
    monkeypatch.setattr(exporting, "probe", lambda _: probes)
    monkeypatch.setattr(exporting, "_checkpoint", lambda _: None)
    (directory / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ExportRefused, match="does not load"):
        verify(directory)


def test_files_that_are_no_model_are_refused_by_name():
    files = small()
    del files["model.safetensors"]
    with pytest.raises(ExportRefused, match=r"model\.safetensors"):
        hf_files(files)
