"""Each part of the hardware is well, or is named with how to mend it."""

import shutil
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import psutil
import pytest

from hone.doctor import hardware
from tests.unit.doctor.places import deployment, only

GIB = 2**30
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets how many bytes every file system has left."""
    def set_free(free: float, total: float = 100 * GIB) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(int(total), 0, int(free)))

    return set_free


@pytest.fixture(autouse=True)
def cgroup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the checks read an empty control group, in which a test may set limits."""
    monkeypatch.setattr(hardware, "_CGROUP", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("processors", "quota", "settings", "level", "text"), [
    (8, "", {}, "ok", "8 of"),
    (8, "max 100000", {}, "ok", "8 of"),
    (8, "150000 100000", {}, "warning", "1.5 of"),
    (1, "", {}, "warning", "1 of"),
    (4, "", {"HONE_ENGINE_THREADS": "5"}, "warning", "HONE_ENGINE_THREADS asks for 5"),
    (4, "", {"HONE_TRAINER_RANKS": "8"}, "warning", "HONE_TRAINER_RANKS asks for 8"),
])
def test_processors(
    monkeypatch: pytest.MonkeyPatch, cgroup: Path, processors: int, quota: str, settings: dict[str, str], level: str,
    text: str,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(processors)))
    (cgroup / "cpu.max").write_text(quota)
    found = only(hardware.processors(deployment(**settings)))
    assert (found.level, text in found.found) == (level, True)


@pytest.mark.parametrize(("available", "limit", "used", "level"), [
    (8, "", "", "ok"), (8, "max", "1", "ok"), (1.5, "", "", "warning"), (0.5, "", "", "error"),
    (8, str(4 * GIB), str(int(3.5 * GIB)), "error"), (8, str(4 * GIB), str(int(2.5 * GIB)), "warning"),
])
def test_memory(
    monkeypatch: pytest.MonkeyPatch, cgroup: Path, available: float, limit: str, used: str, level: str,
) -> None:
    left = psutil.virtual_memory()._replace(available=int(available * GIB), total=16 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: left)
    (cgroup / "memory.max").write_text(limit)
    (cgroup / "memory.current").write_text(used)
    assert only(hardware.memory(deployment())).level == level


@pytest.mark.parametrize(("free", "total", "settings", "level", "mend"), [
    (GIB, GIB, {}, "ok", ""),
    (GIB / 16, GIB / 16, {}, "warning", "--shm-size"),
    (GIB / 16, GIB / 16, {"HONE_TRAINER_RANKS": "2"}, "error", "--shm-size"),
    (GIB / 16, 8 * GIB, {}, "warning", "remove old files"),
])
def test_shared_memory(
    room: Any, free: float, total: float, settings: dict[str, str], level: str, mend: str,
) -> None:
    room(free, total)
    found = only(hardware.shared_memory(deployment(**settings)))
    assert (found.level, mend in found.mend) == (level, True)


@pytest.mark.parametrize(("free", "level", "of_temporary"), [
    (50, "ok", "ok"), (5, "warning", "ok"), (0.5, "error", "error"),
])
def test_disks(room: Any, tmp_path: Path, free: float, level: str, of_temporary: str) -> None:
    room(free * GIB)
    assert [one.level for one in hardware.disks(deployment(tmp_path / "not" / "made"))] == [level, of_temporary]


def test_a_state_directory_that_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room: Any,
) -> None:
    room(50 * GIB)
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    disk, temporary = hardware.disks(deployment(tmp_path / "state"))
    assert (disk.level, temporary.level) == ("error", "ok")
    assert "HONE_STATE" in disk.mend


@pytest.mark.parametrize(("printed", "settings", "driver", "level", "text"), [
    ('["2.13", null, []]', {}, None, "ok", "none; trainers"),
    ('["2.13", null, []]', {}, "/bin/nvidia-smi", "warning", "sees no GPU"),
    ('["2.13", null, []]', {"HONE_TRAINER_DEVICE": "cuda"}, None, "error", "sees none"),
    ('["2.13", "13.0", [["H100", 85899345920]]]', {}, "/bin/nvidia-smi", "ok", "H100 (80.0 GiB)"),
])
def test_gpus(
    monkeypatch: pytest.MonkeyPatch, printed: str, settings: dict[str, str], driver: str | None, level: str, text: str,
) -> None:
    monkeypatch.setattr(hardware, "_PROBE", f"print({printed!r})")
    monkeypatch.setattr(shutil, "which", lambda _: driver)
    found = only(hardware.gpus(deployment(**settings)))
    assert (found.level, text in found.found) == (level, True)


def test_a_torch_that_does_not_load_is_named_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_PROBE", "raise ImportError('libcudart.so: no such file')")
    found = only(hardware.gpus(deployment()))
    assert (found.level, found.found) == ("warning", "torch does not load: ImportError: libcudart.so: no such file")


def test_an_engine_without_its_environment_is_an_error(tmp_path: Path) -> None:
    found = only(hardware.gpus(deployment(HONE_ENGINE="vllm", HONE_VLLM_PYTHON=str(tmp_path / "python"))))
    assert (found.check, found.level) == ("engine", "error")


def test_this_machine_runs_a_probe() -> None:
    found = only(hardware.gpus(deployment(HONE_ENGINE="vllm", HONE_VLLM_PYTHON=sys.executable)))
    assert found.check == "gpu"
