"""Weights & Biases offline, read back from its own files."""

import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.sinks.contract import Point, SinkAway

pytest.importorskip("wandb", reason="wandb is not installed (pip install -e .[wandb])")

from services.sinks.wandb import Wandb


def points(steps: range, run_id: str) -> list[Point]:
    return [Point(run_id, "sort", step, "loss", step / 8, 1000.0 + step) for step in steps]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """W&B reads its variables once in a process."""
    made = tmp_path_factory.mktemp("wandb")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WANDB_MODE", "offline")
        patch.setenv("WANDB_DIR", str(made))
        yield made


@pytest.fixture
def sink(directory: Path) -> Wandb:  # noqa: ARG001 — for its variables
    return Wandb("hone-tests")


def file_of(directory: Path, run_id: str) -> Path:
    (file,) = directory.rglob(f"run-{run_id}.wandb")
    return file


def test_rows_lie_in_the_offline_file_of_a_run_with_its_own_id(sink: Wandb, directory: Path) -> None:
    sink.write(points(range(1, 4), "run_1"))
    sink.end("run_1", "sort", "succeeded")
    file = file_of(directory, "run_1")
    assert said(file) == (0, False)
    assert rows(file) == [{"step": step, "loss": step / 8} for step in (1, 2, 3)]


def test_a_run_that_goes_on_is_left_as_preempted(sink: Wandb, directory: Path) -> None:
    sink.write(points(range(1, 3), "run_2"))
    sink.close()
    assert said(file_of(directory, "run_2")) == (1, True)


def test_a_run_is_ended_though_another_process_wrote_it(sink: Wandb, directory: Path) -> None:
    sink.end("run_3", "sort", "succeeded")
    assert said(file_of(directory, "run_3")) == (0, False)


def test_a_run_that_cannot_be_finished_is_the_sinks_trouble(sink: Wandb, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck:
        def mark_preempting(self) -> None:
            """Nothing."""

        def finish(self, exit_code: int) -> None:
            raise TimeoutError(f"Timed out finishing run with {exit_code}.")

    monkeypatch.setattr(sink, "_opened", lambda *_: Stuck())
    with pytest.raises(SinkAway, match="Timed out"):
        sink.end("run_1", "sort", "succeeded")
    sink._run("run_1", "sort")
    with pytest.raises(SinkAway, match="Timed out"):
        sink.close()


def said(file: Path) -> tuple[int, bool]:
    """Return the exit code in a W&B file, and whether the run was preempted. W&B's own process writes the file."""
    from wandb.proto import wandb_internal_pb2

    protocol: Any = wandb_internal_pb2
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found = [protocol.Record.FromString(data) for data in records(file.read_bytes())]
        exits = [record.exit.exit_code for record in found if record.HasField("exit")]
        if exits:
            return exits[0], any(record.HasField("preempting") for record in found)
        time.sleep(0.1)
    raise AssertionError("no exit")


def rows(file: Path) -> list[dict[str, float]]:
    """Return the history rows of a W&B file, without W&B's own columns."""
    from wandb.proto import wandb_internal_pb2

    protocol: Any = wandb_internal_pb2
    histories = [protocol.Record.FromString(data).history for data in records(file.read_bytes())]
    found = [{item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in history.item}
             for history in histories if history.item]
    return [{key: value for key, value in row.items() if not key.startswith("_")} for row in found]


def records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a file smaller than a block: a head of 7 bytes, then records with 7 bytes before each."""
    at = 7
    while at + 7 <= min(len(content), 32768):
        length, kind = struct.unpack_from("<HB", content, at + 4)
        assert kind == 1, "a whole record"
        yield content[at + 7:at + 7 + length]
        at += 7 + length
