"""Groups stored a second by four writers, against raw writers of the same rows and files.

    python -m benchmarks.ingest [--repetitions N] [--groups N] [--database-url URL --objects-url URL] [--out FILE]

*hone*: what a rollout worker does with graded groups of 8 samples of 64 tokens: finished calls into the journal, 32
groups into a Parquet part, then group rows ready, 8 rows of the index each, usage, the journal's rows gone, a hint.
*copy*: COPY of the very rows that are left, row by row from Python, into tables with the same indexes, and a write of
the same files; nothing is fenced, checked or encoded. *copy with journal* also copies the journal's rows, made before,
in a transaction ahead, and deletes them. Each side has four processes with a connection each, one transaction a wave,
commits that wait for the disk, files that do not. Without URLs it is the embedded PostgreSQL and a directory.
"""

import argparse
import json
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks.ingest_writers import SAMPLES, SQL, TOKENS, WAVE, Job, Prepare, Raw, Storing, Target, Write
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.stack_run import scratch
from benchmarks.worker_pool import WorkerPool
from hone import ids
from hone.stack import ports
from hone.stack.postgres import SUPERUSER, Cluster, as_account, unprivileged
from hone.store import schema
from hone.store.sql import statement
from hone.trajectory.order import Order

WRITERS = 4
SIDES = ("hone", "copy", "copy with journal")
TASK = {"environment": "sort_digits", "seed": 0, "params": {"digits": 6}, "item": None}
PASSWORD = "benchmark"


@contextmanager
def embedded() -> Iterator[Target]:
    """Run the embedded PostgreSQL, as `hone up` does, beside an empty directory."""
    with scratch() as place:
        home = place / "postgres"
        home.mkdir(mode=0o711)
        cluster = Cluster(home, ports.pick(1)[0])
        cluster.create(PASSWORD)
        url = cluster.url(SUPERUSER, PASSWORD, "postgres")
        server = subprocess.Popen(cluster.command(), cwd="/", stderr=subprocess.DEVNULL, **as_account(unprivileged()))
        try:
            _wait_for(url)
            yield Target(url, f"file://{place}/objects")
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for writers to hang up
            server.wait()


def _wait_for(url: str) -> None:
    for _ in range(100):
        try:
            psycopg.connect(url).close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("PostgreSQL did not start within 10 s")


def measured(target: Target, groups: int, repetitions: int, writers: int = WRITERS) -> dict[str, Any]:
    """Return groups a second of either side, `groups` by each writer a repetition, the sides in turn."""
    schema.ensure(target.database_url)
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    with (psycopg.connect(target.database_url, autocommit=True, row_factory=dict_row) as connection,
          WorkerPool(Storing, target, writers, 1) as ours, WorkerPool(Raw, target, writers, 1) as raw):
        connection.execute(SQL["make"].encode())
        for _ in range(repetitions + 1):  # the first warms caches and connections
            taken["hone"].append(groups * writers / _stored(connection, ours, groups))
            for side, with_journal in (("copy", False), ("copy with journal", True)):
                taken[side].append(groups * writers / _copied(connection, raw, with_journal))
    rates = {side: statistics.median(values[1:]) for side, values in taken.items()}
    return {"writers": writers, "samples": SAMPLES, "tokens": TOKENS, "wave": WAVE, "groups_per_s": rates,
            "hone_over_this": {side: rates["hone"] / rate for side, rate in rates.items()}, "taken": {"raw": taken}}


def _stored(connection: psycopg.Connection[Any], pool: WorkerPool[Job], groups: int) -> float:
    run_id = _request(connection, groups * pool.size)
    pool.seconds([Prepare(run_id, groups=groups)] * pool.size)
    seconds = pool.seconds([Write()] * pool.size)
    _expect(connection, "stored", groups * pool.size, run_id)
    return seconds


def _copied(connection: psycopg.Connection[Any], pool: WorkerPool[Job], with_journal: bool) -> float:
    """Have raw writers copy what the newest run left."""
    run_id = _newest_run(connection)
    connection.execute(SQL["clear"].encode())
    parts = [row["part"] for row in connection.execute(SQL["parts"].encode(), {"run_id": run_id})]
    pool.seconds([Prepare(run_id, parts=parts[place::pool.size], journal=with_journal) for place in range(pool.size)])
    return pool.seconds([Write()] * pool.size)


def _newest_run(connection: psycopg.Connection[Any]) -> str:
    asked = {"state": None, "like": None, "base": None, "search": None, "after": None, "limit": 1}
    rows = connection.execute(statement("runs.page"), asked)
    [row] = rows.fetchall()
    return str(row["id"])


def _expect(connection: psycopg.Connection[Any], query: str, groups: int, run_id: str) -> None:
    """Raise ValueError unless every sample is there and its group names its part."""
    [row] = connection.execute(SQL[query].encode(), {"run_id": run_id}).fetchall()
    if set(row.values()) != {groups * SAMPLES}:
        raise ValueError(f"{query}: found {row}, expected {groups * SAMPLES} samples")


def _request(connection: psycopg.Connection[Any], groups: int) -> str:
    """Insert a tenant, a model with its first version, a run and its requested groups; return the run's id."""
    tenant, model, run, version = (ids.new(prefix) for prefix in ("tenant", "model", "run", "ver"))
    spec = json.dumps({"seed": 0, "steps": 1, "model": {"base": "toy"}, "algorithm": {"preset": "grpo"}})
    common = {"tenant_id": tenant, "model_id": model, "run_id": run}
    for name, params in (
        ("tenants.ensure", {"id": tenant, "name": tenant}),
        ("models.add", {"id": model, "kind": "full", "base_artifact_id": None, "base_version_id": None,
                        "config": "{}"}),
        ("runs.add", {"id": run, "key_id": None, "name": "ingest", "spec": spec, "spec_sha": "", "budget": None,
                      "roles": "{}", "preflight": None, "deadline_s": 3600, "traceparent": None}),
        ("versions.add", {"id": version, "seq": 0, "number": 0, "parent_id": None, "manifest": "{}"}),
        ("groups.request", {
            "kind": "generate", "series": "", "deadline_s": 3600, "orders": [
                Order(purpose="train", request_no=number, step=1, n=SAMPLES, task=TASK, task_hash=f"{number:064x}",
                      seed=0, sampling={"max_tokens": TOKENS}, model_id=model, version_id=version).model_dump_json()
                for number in range(groups)]}),
    ):
        connection.execute(statement(name), {**common, **params})
    return run


def main() -> None:
    """Measure and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--groups", type=int, default=256, help="that each writer stores a repetition")
    parser.add_argument("--database-url", default="", help="its owner's; with --objects-url")
    parser.add_argument("--objects-url", default="")
    parser.add_argument("--out", type=Path, default=RESULTS / "ingest.json")
    args = parser.parse_args()
    result: dict[str, Any] = provenance()
    if args.database_url:
        result |= measured(Target(args.database_url, args.objects_url), args.groups, args.repetitions)
    else:
        with embedded() as target:
            result |= measured(target, args.groups, args.repetitions)
    store(args.out, result)


if __name__ == "__main__":
    main()
