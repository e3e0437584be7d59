"""Services as forks: each ends as a program of its own would, in one process that has loaded two modules."""

import subprocess
import sys
from pathlib import Path

import pytest

from hone.stack import processes
from hone.stack.processes import KINDS

PROGRAM = """
import os, time
from hone.stack.forks import Modules

modules = Modules(["ended", "broken"])
while not modules.loaded():
    time.sleep(0.01)
print(modules.has("ended"), modules.has("broken"), modules.has("other"), flush=True)
for how in ("returns", "exits", "refuses", "raises"):
    child = os.fork()
    if child == 0:
        modules.become("ended", {"HOW": how})
    print(how, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
ENDED = """
import atexit, os, signal, sys, threading, time

def main():
    assert dict(os.environ) == {"HOW": os.environ["HOW"]} and sys.modules["__main__"].main is main
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    line = open("/proc/self/cmdline").read().rstrip("\\0")
    assert line.endswith("-m ended"), line
    atexit.register(print, "registered")
    threading.Thread(target=lambda: (time.sleep(0.05), print("waited for"))).start()
    match os.environ["HOW"]:
        case "exits": sys.exit(3)
        case "refuses": sys.exit("no such thing")
        case "raises": raise ValueError("a reason")
"""


def test_a_fork_runs_the_service_and_ends_with_its_status(tmp_path: Path) -> None:
    for name, text in (("ended", ENDED), ("broken", "1 / 0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__main__.py").write_text(text)
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          check=True)
    after = ["waited for", "registered"]
    assert done.stdout.splitlines() == [
        "True False False", *after, "returns 0", *after, "exits 3", *after, "refuses 1", *after, "raises 1"]
    assert "broken is not loaded in advance" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert "ValueError: a reason" in done.stderr
    assert "no such thing" in done.stderr


@pytest.mark.parametrize(("command", "expected"), [
    ((sys.executable, "-m", "services.reward"), "services.reward"),
    ((sys.executable, "-m", "services.sandbox"), None),  # must not have the memory of a process with secrets
    ((sys.executable, "-m", "services.simulation"), None),  # Python reads PYTHONHASHSEED as it starts
    ((sys.executable, "-m", "services.learner.trainer"), None),
    (("/other/python", "-m", "services.reward"), None),
    ((sys.executable, "-m", "services.reward", "--option"), None),
])
def test_which_commands_are_forked(command: tuple[str, ...], expected: str | None) -> None:
    assert processes.forked(command) == expected
    assert {kind for kind in KINDS if KINDS[kind].forked} == {
        "reward", "value", "rollout", "driver", "gateway", "console"}
