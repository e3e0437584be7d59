"""No claim of a header is believed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from hone.models.checkpoint_header import BadCheckpoint
from services.gateway.safetensors_header import TensorFacts, read


def test_what_the_library_writes_is_read(tmp_path: Path) -> None:
    tensors: dict[str, Any] = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((), np.float16),
                               "c": np.zeros((0, 4), np.int64)}
    safetensors.numpy.save_file(tensors, tmp_path / "x", metadata={"format": "pt"})
    assert read(tmp_path / "x") == {
        "a": TensorFacts("F32", (2, 3)), "b": TensorFacts("F16", ()), "c": TensorFacts("I64", (0, 4))}


def file(path: Path, header: Any, data: int = 8) -> Path:
    """Write a safetensors file with this header and so many bytes of data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(data))
    return path


def entry(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


BAD = [
    (b"{", 8, "no JSON"), (b"[" * 100_000, 8, "no JSON"), ([], 8, "no object"), ({"a": 1}, 8, "an incomplete entry"),
    ({"a": {"dtype": "F32"}}, 8, "an incomplete entry"), (entry(dtype="F33"), 8, "dtype F33"),
    (entry(dtype=[]), 8, r"dtype \[\]"), (entry(shape=[-2]), 8, "malformed"), (entry(shape=["2"]), 8, "malformed"),
    (entry(shape=[True]), 8, "malformed"), (entry(data_offsets=[0]), 8, "malformed"),
    (entry(data_offsets=[0, 4]), 8, "4 bytes, expected 8"), (entry(), 7, "7 bytes of data"), (entry(), 9, "9 bytes"),
    (entry(data_offsets=[1, 9]), 9, "gap or overlap"),
    ({**entry(), "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, 12, "gap or overlap"),
]


@pytest.mark.parametrize(("header", "data", "words"), BAD, ids=range(len(BAD)))
def test_contradictions_are_refused(tmp_path: Path, header: Any, data: int, words: str) -> None:
    with pytest.raises(BadCheckpoint, match=words):
        read(file(tmp_path / "x", header, data))


@pytest.mark.parametrize("content", [b"", b"\x01", (2**60).to_bytes(8, "little") + b"{}"])
def test_files_without_a_whole_header_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(BadCheckpoint, match="a whole safetensors file"):
        read(tmp_path / "x")
