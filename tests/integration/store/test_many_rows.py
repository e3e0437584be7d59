"""A dataset of many rows takes no memory in proportion, neither in the driver nor in the gateway's findings."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROBE = r"""
import sys, threading
from pathlib import Path
from types import SimpleNamespace
from hone.resolution import resolve
from hone.spec.run import TaskSource
from hone.store import manifests, objects
from services.gateway.admission import task_rows
from services.learner.driver.lease import RunLease
from services.learner.driver.tasks import Tasks
from services.learner.driver.watch import Watch

count, home = int(sys.argv[1]), Path(sys.argv[2])
with (home / "in.jsonl").open("w") as file:
    file.writelines('{"prompt": "%d + 1 =", "answer": "%d"}\n' % (number, number + 1) for number in range(count))
store = objects.connect(f"file://{home}/objects")
entry = manifests.put_file(store, "d/rows.jsonl", home / "in.jsonl")
database = SimpleNamespace(one=lambda *_, **__: {"manifest": {"files": {"rows.jsonl": entry}}, "desired": "run",
                                                 "past_deadline": False})
spec = resolve({"name": "x", "model": {"base": "b"}, "steps": 10**9, "task": {"dataset": "rows"}})
lease = RunLease("run", "tenant", "model", 1, spec)
watch = Watch(database, lease, SimpleNamespace(write=lambda _: None), threading.Event(), 60.0)


def anonymous_kib():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))


before = anonymous_kib()
tasks = Tasks(database, store, None, lease, watch)
assert (len(tasks.train(0, 64)), len(tasks.held_out)) == (64, 256)
found = task_rows._findings(store, "d/rows.jsonl", spec.task.model_dump_json(), "{}")
assert (found.rows, len(found.tasks)) == (count, count)
print(anonymous_kib() - before)
"""


@pytest.mark.parametrize("rows", [150_000])
def test_rows_are_kept_on_disk(tmp_path: Path, rows: int) -> None:
    done = subprocess.run([sys.executable, "-c", _PROBE, str(rows), str(tmp_path)], check=True, capture_output=True,
                          text=True, timeout=120)
    assert int(done.stdout) < 48 * 1024, "a list of these rows takes 190 MiB"
