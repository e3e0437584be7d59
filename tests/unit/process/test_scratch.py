"""Temporary files of killed processes are removed; those of running processes are not."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hone.process import scratch

_HOLD = """
import sys, tempfile, time
from pathlib import Path
from hone.process import scratch
print(scratch.begin(Path(sys.argv[1])), flush=True)
Path(tempfile.mkdtemp(prefix="hone-upload-"), "part").write_text("bytes on their way")
print(tempfile.gettempdir(), flush=True)
sys.stdin.read() if "until-asked" in sys.argv else time.sleep(60)
"""


def held(state: Path, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", _HOLD, str(state), *more], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


def line(process: "subprocess.Popen[str]") -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_a_killed_process_leaves_nothing_and_a_living_one_keeps_its_own(tmp_path: Path) -> None:
    with held(tmp_path) as other:
        left = line(other)
        assert line(other) == left, "temporary files are made there"
        assert (left.parent, scratch.sweep(left.parent), left.exists()) == (tmp_path / "scratch", 0, True)
        other.send_signal(signal.SIGKILL)
    assert list(left.glob("hone-upload-*/part")), "the kill left it"
    with held(tmp_path, "until-asked") as later:
        assert line(later).exists()
        assert not left.exists()
    assert os.listdir(tmp_path / "scratch") == [], "a process that ends removes its own"


_EXEC = """
import os, sys
from pathlib import Path
from hone.process import scratch
print(scratch.begin_before_exec(Path(sys.argv[1])), flush=True)
program = "import tempfile, time; print(tempfile.mkdtemp(), flush=True); time.sleep(60)"
os.execv(sys.executable, [sys.executable, "-c", program])
"""


def test_a_program_that_replaces_a_process_keeps_its_directory_and_leaves_nothing_when_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _EXEC, str(tmp_path)], stdout=subprocess.PIPE, text=True) as program:
        directory, made = line(program), line(program)
        assert made.parent == directory
        assert (scratch.sweep(directory.parent), made.exists()) == (0, True)
        program.send_signal(signal.SIGKILL)
    assert made.exists(), "the kill left it"
    assert (scratch.sweep(directory.parent), directory.exists()) == (1, False)


def test_processes_that_sweep_at_once_do_so_without_an_error(tmp_path: Path) -> None:
    (tmp_path / f"{scratch.PREFIX}file").write_text("nobody's directory")
    for _ in range(10):
        for number in range(20):
            place = tmp_path / f"{scratch.PREFIX}{number}"
            place.mkdir()
            (place / "base").write_text("weights")
        with ThreadPoolExecutor(4) as several:
            for swept in [several.submit(scratch.sweep, tmp_path) for _ in range(4)]:
                swept.result()
    assert os.listdir(tmp_path) == [f"{scratch.PREFIX}file"]
