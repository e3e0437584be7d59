"""Bytes that a sample and a step leave behind: rows, the log of writes, trajectories, weights.

    python -m benchmarks.footprint [--out FILE]

Two runs, with short and with longer answers. Rows are PostgreSQL's tables with their indexes, the log is its
write-ahead log, which replication and backups carry; both are divided by the samples between two steps. Bytes do not
depend on the speed of the machine, so it need not be quiet.
"""

import argparse
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks import checkpoints, stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.workloads import WORKLOADS, Workload
from hone.client import Client
from hone.stack.embedded import Stack
from hone.store.notifications import Listener

_DIGITS = replace(WORKLOADS["variable"], steps=25, warm_up=5, engines=1)
SCALES = {"short": replace(_DIGITS, max_tokens=6), "longer": _DIGITS}
QUERY = Path(__file__).with_suffix(".sql")
LOOK_S = 5.0


@dataclass(frozen=True)
class Stored:
    """What was stored when `step` steps were committed: bytes. `parts` are the trajectories' files."""

    step: int
    tables: int
    log: int
    version: int
    snapshot: int
    parts: int


def measure(stack: Stack, client: Client, workload: Workload) -> dict[str, Any]:
    """Run a workload and return the bytes of a sample, of a version and of a snapshot."""
    commits = Listener(stack.record().database_url, "steps")
    run = client.create_run(stack_run.spec(workload, "start", workload.name, 0, skip=True))
    while client.run(run.id).step < workload.warm_up:
        commits.wait(LOOK_S)
    first = look(stack, client.run(run.id).step)
    last = look(stack, stack_run.wait_for_end(client, run.id).step)
    tokens = [value for _, value in client.metrics(run.id, after_step=0).series["completion/mean_tokens"]]
    samples = (last.step - first.step) * workload.rows
    each = {name: (getattr(last, name) - getattr(first, name)) / samples for name in ("tables", "log", "parts")}
    return {"mean_tokens": statistics.mean(tokens), "samples": samples, "bytes_a_sample": each,
            "version_bytes": last.version, "snapshot_bytes": last.snapshot,
            "raw": {"first": vars(first), "last": vars(last)}}


def look(stack: Stack, step: int) -> Stored:
    """Return what is stored now."""
    with psycopg.connect(stack.record().database_url, row_factory=dict_row) as connection:
        [row] = connection.execute(QUERY.read_bytes()).fetchall()
    parts = sum(path.stat().st_size for path in (stack.state / "objects" / "runs").rglob("*.parquet"))
    return Stored(step, parts=parts, **{name: value or 0 for name, value in row.items()})


def main() -> None:
    """Measure both and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / "footprint.json")
    args = parser.parse_args()
    result: dict[str, Any] = {**provenance(), "scales": {}}
    for name, workload in SCALES.items():
        checkpoint = checkpoints.prepare(workload.start)
        with stack_run.scratch() as scratch, stack_run.stack(scratch / "state", workload) as (stack, client):
            client.register_model("start", checkpoint)
            result["scales"][name] = measure(stack, client, workload)
            result["parameter_bytes"] = (checkpoint / "model.safetensors").stat().st_size
    store(args.out, result)


if __name__ == "__main__":
    main()
