"""What running ahead brings when grading is slow: the same run synchronous and asynchronous, to the same target.

    python -m benchmarks.asynchronous [--ahead VERSIONS] [--seeds N] [--steps N] [--out FILE]

Every grade takes half a second, and one task in ten is a straggler whose grades take two. Both modes have the same
base, tasks, batch, loss (with truncated importance sampling) and services, one after the other on one stack.
"""

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import checkpoints, figures, stack_run
from benchmarks.machine import provenance
from benchmarks.records import Record, summary
from benchmarks.results import RESULTS, store
from benchmarks.workloads import WORKLOADS, Workload, shortened
from hone.client import Client

GRADER = {"type": "slowed", "grader": {"type": "exact"}, "seconds": 0.5, "straggler_every": 10,
          "straggler_seconds": 2.0}
WORKLOAD = replace(WORKLOADS["short"], name="slow_grader", steps=90, engines=1)
MODES = ("synchronous", "asynchronous")
AHEAD = 1
HELD_OUT = 512


def train(client: Client, workload: Workload, mode: str, ahead: int, seed: int) -> dict[str, Any]:
    """Run the workload in a mode and return its summary, final accuracy, staleness, and what was idle."""
    name, bound = f"{mode}-{seed}", ahead if mode == "asynchronous" else 0
    spec = stack_run.spec(replace(workload, max_staleness=bound), "start", name, seed, skip=True)
    spec |= {"grader": GRADER, "eval": {"prompts": HELD_OUT, "every": workload.steps}}
    spec["algorithm"] |= {"correction": {"name": "tis"}}
    run = stack_run.wait_for_end(client, client.create_run(spec).id)
    record = stack_run.read_record(client, run, Record("Hone", mode, seed))
    series = {key: [value for _, value in points] for key, points in client.metrics(run.id).series.items()}
    return {
        **summary(record, workload), "mode": mode, "seed": seed,
        "accuracy": {"first": series["eval/sampled"][0], "last": series["eval/sampled"][-1],
                     "greedy": series["eval/greedy"][-1]},
        "staleness": {"mean": statistics.mean(series["staleness/mean"]), "max": max(series["staleness/max"])},
        "trainer_idle_s": statistics.median(series["trainer/idle_s"][1:]),
        "gap_max": max(series.get("gap/mean", []), default=None), "rewards": record.rewards, "steps_s": record.step_s,
    }


def compare(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return, seed by seed, how many times as long the synchronous run took to the target, and both accuracies."""
    seeds = sorted({run["seed"] for run in runs})
    pairs = [[next(run for run in runs if (run["mode"], run["seed"]) == (mode, seed)) for mode in MODES]
             for seed in seeds]
    reached = [(slow["seconds_to_target"], fast["seconds_to_target"]) for slow, fast in pairs]
    return {"speedup": [figures.ratio(slow, fast) for slow, fast in reached if slow and fast],
            "accuracy": {mode: statistics.mean(run["accuracy"]["last"] for run in runs if run["mode"] == mode)
                         for mode in MODES}}


def main() -> None:
    """Run every seed in both modes and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ahead", type=int, default=AHEAD, help="largest staleness of the asynchronous run")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="fewer steps, for a smoke run")
    parser.add_argument("--out", type=Path, default=RESULTS / "asynchronous.json")
    args = parser.parse_args()
    began, workload = provenance(), shortened(WORKLOAD, args.steps)
    checkpoint = checkpoints.prepare(workload.start)
    with stack_run.scratch() as scratch, stack_run.stack(scratch / "state", workload) as (_, client):
        client.register_model("start", checkpoint)
        runs = [train(client, workload, mode, args.ahead, seed) for seed in range(args.seeds) for mode in MODES]
    store(args.out, {**began, "runs": runs, **compare(runs)})


if __name__ == "__main__":
    main()
