"""Weights & Biases offline: what lies in its own files."""

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.sinks.contract import Point

pytest.importorskip("wandb", reason="wandb is not installed (pip install -e .[wandb])")

from services.sinks.wandb import Wandb


def points(steps: range) -> list[Point]:
    return [Point("run_1", "sort", step, "loss", step / 8, 1000.0 + step) for step in steps]


def test_rows_lie_in_the_offline_file_of_a_run_with_its_own_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    sink = Wandb("hone-tests")
    sink.write(points(range(1, 4)))
    sink.end("run_1", "succeeded")
    (file,) = tmp_path.rglob("*.wandb")
    assert file.name == "run-run_1.wandb"
    expected, until = [{"step": step, "loss": step / 8} for step in (1, 2, 3)], time.monotonic() + 20
    while rows(file) != expected and time.monotonic() < until:
        time.sleep(0.1)  # its own process writes the file
    assert rows(file) == expected


def rows(file: Path) -> list[dict[str, float]]:
    """Return the history rows of a W&B file, without W&B's own columns."""
    from wandb.proto import wandb_internal_pb2

    protocol: Any = wandb_internal_pb2
    histories = [protocol.Record.FromString(data).history for data in records(file.read_bytes())]
    found = [{item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in history.item}
             for history in histories if history.item]
    return [{key: value for key, value in row.items() if not key.startswith("_")} for row in found]


def records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a file that is smaller than a block: a head of 7 bytes, then each with its own of 7."""
    at = 7
    while at + 7 <= min(len(content), 32768):
        length, kind = struct.unpack_from("<HB", content, at + 4)
        assert kind == 1, "a whole record"
        yield content[at + 7:at + 7 + length]
        at += 7 + length
