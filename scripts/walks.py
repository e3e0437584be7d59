"""Counts the files that one must open to follow a run: `python -m scripts.walks [--list]`.

A short run of the demo's task is trained on a stack whose processes note each file of ours in which a function runs.
What only runs while a module is imported does not count.
"""

import os
import sys
import tempfile
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
if any("services." in word for word in sys.orig_argv):
    threading.setprofile(note)
    sys.setprofile(note)
'''


def walk(home: Path) -> dict[str, set[str]]:
    """Return the files in which functions ran, by kind of process."""
    notes = home / "notes"
    notes.mkdir()
    (home / "sitecustomize.py").write_text(NOTE)
    os.environ |= {"WALK_ROOT": str(ROOT), "WALK_DIR": str(notes),
                   "PYTHONPATH": f"{home}:{os.environ.get('PYTHONPATH', '')}"}
    with Stack(home / "state", counts={"console": 0}) as stack:
        stack.wait_ready(120)
        record, kinds = stack.record(), {pid: name.rpartition("-")[0] for name, pid in stack.pids().items()}
        with Client(record.gateway_url, record.api_key) as client:
            client.upload_model("toy", toy.write(home / "toy"))
            run = client.create_run({**task.reinforcement_spec("walk", "toy", 0, 3), "eval": None})
            while client.run(run.id).state not in ("succeeded", "failed"):
                pass
    found: dict[str, set[str]] = {name: set() for name in PROCESSES}
    for file in notes.iterdir():
        found.setdefault(kinds.get(int(file.name), "other"), set()).update(file.read_text().split())
    return found


def main() -> None:
    """Print the number of files for each process, and their names with --list."""
    with tempfile.TemporaryDirectory(prefix="hone-") as directory:
        Path(directory).chmod(0o711)
        found = walk(Path(directory))
    for name in PROCESSES:
        own = sorted(one for one in found[name] if one.startswith("services/"))
        print(f"{name:<12} {len(own):>3} of services, {len(found[name]) - len(own):>3} of libs")
        if "--list" in sys.argv:
            print("".join(f"    {one}\n" for one in sorted(found[name])), end="")


if __name__ == "__main__":
    main()
