"""What part of a step is no model arithmetic: queues, gRPC, storage, grading, waiting for each other.

    python -m benchmarks.overhead [--scale six_million|toy] [--steps N] [--out FILE]

Wall time of a step is cut where rows say that work passed on: asked for (from the last commit to the groups' rows),
rolled out (to the last group that is ready), planned (to the plan's row), trained (to the commit). Within, arithmetic
is what the engine says it spent in its steps, and what the trainer says it spent in forward, backward and optimizer.
Processor time is that of every process of the stack, PostgreSQL included; arithmetic is the same seconds, as each of
the two computes with one thread. The machine has to be quiet: the trainer's seconds are wall time.
"""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from benchmarks import checkpoints, figures, processes, stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.workloads import WORKLOADS, Workload, shortened
from hone.api.inference_pb2 import ListVersionsRequest
from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.client import Client
from hone.stack.embedded import Stack
from hone.store.notifications import Listener

SCALES = {
    "six_million": Workload(
        name="six_million", start="random_weights", environment="even_digits", params={}, max_tokens=64, steps=8,
        lr=1e-6, target=None, layouts=(), warm_up=2),
    "toy": replace(WORKLOADS["short"], name="toy", steps=40, engines=1, trainer_threads=1),
}
LOOK_S = 5.0
TIMELINE = Path(__file__).with_name("timeline.sql")


@dataclass(frozen=True)
class Reading:
    """What had been used when `step` steps were committed: seconds."""

    step: int
    cpu: dict[str, float]
    engine: float


def measure(stack: Stack, client: Client, workload: Workload) -> dict[str, Any]:
    """Run a workload and return wall and processor time of its steps after warm-up, cut into parts."""
    commits = Listener(stack.record().database_url, "steps")  # asking again and again would be load of our own making
    commits.wait(0.01)
    run_id = client.create_run(stack_run.spec(workload, "start", workload.name, 0, skip=True)).id
    first = reading(stack, client, commits, run_id, workload.warm_up)
    last = reading(stack, client, commits, run_id, workload.steps)
    run = stack_run.wait_for_end(client, run_id)
    series = client.metrics(run.id, after_step=0).series
    trainer = updates(series)
    arithmetic = {"generation": (last.engine - first.engine) / (last.step - first.step),
                  "update": statistics.mean(trainer[first.step:last.step])}
    raw = timeline(stack, run.id)
    return {
        "scale": workload.name, "steps": [first.step + 1, last.step],
        "mean_tokens": statistics.mean(_values(series["completion/mean_tokens"])),
        "wall": wall(stages(raw[first.step - 1:]), arithmetic),
        "cpu": cpu(first, last, arithmetic),
        "raw": {"timeline": [{key: str(value) for key, value in row.items()} for row in raw], "trainer_s": trainer,
                "first": vars(first), "last": vars(last)},
    }


def reading(stack: Stack, client: Client, commits: Listener, run_id: str, step: int) -> Reading:
    """Return what has been used as soon as `step` steps are committed. Raises RunFailed."""
    while (run := client.run(run_id)).step < step:
        if run.state in ("failed", "cancelled"):
            raise stack_run.RunFailed(f"run {run.name} {run.state}: {run.reason}")
        commits.wait(LOOK_S)
    return Reading(run.step, processes.cpu_seconds(stack.pids()), engine_seconds(stack))


def engine_seconds(stack: Stack) -> float:
    """Return the seconds that the engine has computed since it started."""
    with stack_run.engine_channel(stack) as channel:
        models = InferenceServiceStub(channel).ListVersions(ListVersionsRequest(), timeout=10).models
    return sum(model.computed_s for model in models)


def timeline(stack: Stack, run_id: str) -> list[dict[str, Any]]:
    """Return the moments of each committed step, from step 1 on."""
    with psycopg.connect(stack.record().database_url, row_factory=dict_row) as connection:
        return connection.execute(TIMELINE.read_bytes(), {"run_id": run_id}).fetchall()


def stages(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the mean seconds of each stage over successive steps; the first row only tells when its step ended."""
    spans: dict[str, list[float]] = {name: [] for name in ("asked", "rolled_out", "planned", "trained")}
    for before, now in pairwise(rows):
        moments = [before["committed_at"], now["requested_at"], now["ready_at"], now["planned_at"], now["committed_at"]]
        for name, (start, end) in zip(spans, pairwise(moments), strict=True):
            spans[name].append((end - start).total_seconds())
    return {name: statistics.mean(values) for name, values in spans.items()}


def wall(spans: dict[str, float], arithmetic: dict[str, float]) -> dict[str, Any]:
    """Return a step's seconds, its parts, and the share that is no arithmetic."""
    step_s = sum(spans.values())
    parts = {
        "generation": arithmetic["generation"], "update": arithmetic["update"],
        "asking": spans["asked"], "rollout besides generation": spans["rolled_out"] - arithmetic["generation"],
        "planning": spans["planned"], "training besides the update": spans["trained"] - arithmetic["update"],
    }
    outside = 1 - figures.ratio(sum(arithmetic.values()), step_s)
    return {"step_s": step_s, "parts_s": parts, "shares": figures.shares(parts, step_s), "outside": outside}


def cpu(first: Reading, last: Reading, arithmetic: dict[str, float]) -> dict[str, Any]:
    """Return a step's processor seconds by process, and the share that is no arithmetic."""
    steps = last.step - first.step
    used = {name: (last.cpu[name] - first.cpu[name]) / steps for name in sorted(first.cpu)}
    step_s = sum(used.values())
    outside = 1 - figures.ratio(sum(arithmetic.values()), step_s)
    return {"step_s": step_s, "by_process_s": used, "arithmetic_s": dict(arithmetic), "outside": outside}


def updates(series: Mapping[str, Sequence[tuple[int, float]]]) -> list[float]:
    """Return the seconds of each step's forward, backward and optimizer, without reading the step's samples."""
    names = ("trainer/forward_backward_s", "trainer/optim_step_s", "storage/read_s")
    columns = (_values(series[name]) for name in names)
    return [forward_backward + optimizer - read for forward_backward, optimizer, read in zip(*columns, strict=True)]


def _values(points: Sequence[tuple[int, float]]) -> list[float]:
    return [value for _, value in points]


def main() -> None:
    """Measure the scales and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=sorted(SCALES), action="append")
    parser.add_argument("--steps", type=int, help="fewer steps, for a smoke run")
    parser.add_argument("--out", type=Path, default=RESULTS / "overhead.json")
    args = parser.parse_args()
    result: dict[str, Any] = {**provenance(), "scales": {}}
    for scale in args.scale or sorted(SCALES):
        workload = shortened(SCALES[scale], args.steps)
        checkpoint = checkpoints.prepare(workload.start)
        with stack_run.scratch() as scratch, \
                stack_run.stack(scratch / "state", workload) as (stack, client):
            client.register_model("start", checkpoint)
            result["scales"][scale] = measure(stack, client, workload)
    store(args.out, result)


if __name__ == "__main__":
    main()
