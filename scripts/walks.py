"""Counts the files that one must open to follow a run: `python -m scripts.walks [--list]`.

A short run of the demo's task is trained on a stack whose processes note each file of ours in which a function runs.
What only runs while a module is imported does not count.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hone.client import Client
from hone.demo import task
from hone.models import toy
from hone.stack.embedded import Stack

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = ("gateway", "driver", "value", "simulation", "rollout", "inference", "reward", "trainer")
NOTE = '''
import os, sys, threading
root, seen, out = os.environ["WALK_ROOT"], set(), os.environ["WALK_DIR"]

def note(frame, event, argument):
    code = frame.f_code
    if event == "call" and code not in seen:
        seen.add(code)
        if code.co_name != "<module>" and code.co_filename.startswith((root + "/libs/hone", root + "/services")):
            with open(f"{out}/{os.getpid()}", "a") as file:
                print(code.co_filename[len(root) + 1:], file=file)

def begin():
    threading.setprofile(note)
    sys.setprofile(note)

def await_service(frame, event, argument):
    """Begin in a fork of the supervisor that becomes a service; other forks execute a program."""
    if event == "call" and frame.f_code.co_name == "become":
        begin()

if any("services." in word for word in sys.orig_argv):
    begin()
elif "hone.stack.daemon" in sys.orig_argv:
    os.register_at_fork(after_in_child=lambda: sys.setprofile(await_service))
'''
"""A `sitecustomize`, which Python runs at its start: notes files in WALK_DIR, in one file for each process id."""


class Notes:
    """The notes of a stack's processes, under `home`."""

    def __init__(self, home: Path) -> None:
        self.home, self._written = home, home / "notes"
        self._written.mkdir()
        (home / "sitecustomize.py").write_text(NOTE)

    def stack(self, counts: Mapping[str, int]) -> Stack:
        """Return a stack whose processes take notes."""
        path = f"{self.home}:{os.environ.get('PYTHONPATH', '')}"
        environ = {**os.environ, "WALK_ROOT": str(ROOT), "WALK_DIR": str(self._written), "PYTHONPATH": path}
        return Stack(self.home / "state", counts=counts, environ=environ)

    def files(self, pids: Mapping[str, int]) -> dict[str, set[str]]:
        """Return the noted files by kind of process, given the process ids by name, such as trainer-0."""
        kinds = {pid: name.rpartition("-")[0] for name, pid in pids.items()}
        found: dict[str, set[str]] = {}
        for file in self._written.iterdir():
            found.setdefault(kinds.get(int(file.name), "other"), set()).update(file.read_text().split())
        return found


def walk(home: Path) -> dict[str, set[str]]:
    """Train a short run and return the files in which functions ran, by kind of process."""
    notes = Notes(home)
    with notes.stack({"console": 0}) as stack:
        stack.wait_ready(120)
        record, pids = stack.record(), stack.pids()
        with Client(record.gateway_url, record.api_key) as client:
            client.upload_model("toy", toy.write(home / "toy"))
            run = client.create_run({**task.reinforcement_spec("walk", "toy", 0, 3), "eval": None})
            while client.run(run.id).state not in ("succeeded", "failed"):
                pass
    return notes.files(pids)


def main() -> None:
    """Print the number of files for each process, and their names with --list."""
    with tempfile.TemporaryDirectory(prefix="hone-") as directory:
        Path(directory).chmod(0o711)
        found = walk(Path(directory))
    for name in PROCESSES:
        files = sorted(found.get(name, ()))
        own = sum(file.startswith("services/") for file in files)
        print(f"{name:<12} {own:>3} of services, {len(files) - own:>3} of libs")
        if "--list" in sys.argv:
            print("".join(f"    {file}\n" for file in files), end="")


if __name__ == "__main__":
    main()
