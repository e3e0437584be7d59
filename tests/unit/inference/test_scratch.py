"""Directories of killed processes are removed; directories of running processes are not."""

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from services.inference.vllm import scratch
from services.inference.vllm.scratch import Scratch

_HOLD = """
import time
from services.inference.vllm.scratch import Scratch
held = Scratch()
(held.path / "base").write_text("weights")
print(held.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(scratch, "_YOUNG_S", -1.0)
    return tmp_path


@pytest.mark.usefixtures("temporary")
def test_a_killed_process_leaves_nothing_and_a_living_one_keeps_its_own() -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLD], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        scratch.sweep()
        assert (left / "base").exists(), "it lives"
        other.send_signal(signal.SIGKILL)
    scratch.sweep()
    assert not left.exists()


@pytest.mark.usefixtures("temporary")
def test_a_new_directory_is_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_YOUNG_S", 60.0)
    young = Path(tempfile.mkdtemp(prefix="hone-vllm-held-"))
    scratch.sweep()
    assert young.exists()


def test_a_removed_directory_is_gone(temporary: Path) -> None:
    held = Scratch()
    held.remove()
    assert os.listdir(temporary) == []


def test_two_processes_that_start_at_once_sweep_without_an_error(temporary: Path) -> None:
    (temporary / "hone-vllm-held-file").write_text("nobody's directory")
    for _ in range(20):
        for _ in range(20):
            (Path(tempfile.mkdtemp(prefix="hone-vllm-held-")) / "base").write_text("weights")
        with ThreadPoolExecutor(4) as several:
            for swept in [several.submit(scratch.sweep) for _ in range(4)]:
                swept.result()
    assert os.listdir(temporary) == ["hone-vllm-held-file"]
