"""What one tenant's flood of slow groups costs another tenant: its step time alone, and beside the flood.

    python -m benchmarks.fairness [--steps N] [--flood GROUPS] [--out FILE]

The flood is one run of 1,000 groups in its first step, whose grades take two seconds each. The other tenant trains the
toy task before, and again while the flood's groups are open. Both use one rollout worker, one engine and one trainer.
"""

import argparse
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.client import Client
from hone.models import toy

TASK = {"environment": "sort_digits", "params": {"digits": 3}}
SLOW = {"type": "slowed", "grader": {"type": "exact"}, "seconds": 2.0}


def base(directory: Path) -> Path:
    """Write a random toy model."""
    directory.mkdir(parents=True)
    for name, data in toy.files(0).items():
        (directory / name).write_bytes(data)
    return directory


def spec(name: str, steps: int, prompts: int, **changes: Any) -> dict[str, Any]:
    """Return the spec of a short toy run."""
    return {"name": name, "model": {"base": "toy"}, "task": TASK, "steps": steps, "eval": None,
            "batch": {"prompts": prompts, "samples": 2}, "sampling": {"max_tokens": 5}, "snapshot_every": 10, **changes}


def step_s(client: Client, steps: int, name: str) -> list[float]:
    """Train and return the seconds of each step but the first."""
    run = stack_run.wait_for_end(client, client.create_run(spec(name, steps, 16)).id, poll_s=0.5)
    commits = stack_run.commit_times(client, run.id)
    return [(after - before).total_seconds() for before, after in pairwise(commits)][1:]


def main() -> None:
    """Measure both and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--flood", type=int, default=1000, help="groups of the flood's step")
    parser.add_argument("--out", type=Path, default=RESULTS / "fairness.json")
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(scratch / "state", {}, {}) as (stack, operator):
        other = operator.create_tenant("other")
        key = operator.create_tenant_key(other.id, "flood")
        folder = base(scratch / "toy")
        with Client(stack.record().gateway_url, key.secret) as flooding:
            for client in (operator, flooding):
                client.upload_model("toy", folder)
            alone = step_s(operator, args.steps, "alone")
            flood = flooding.create_run(spec("flood", 100, args.flood, grader=SLOW))
            beside = step_s(operator, args.steps, "beside")
            flooding.cancel(flood.id)
    medians = statistics.median(alone), statistics.median(beside)
    store(args.out, {**began, "steps": args.steps, "flood": args.flood, "alone_s": medians[0], "beside_s": medians[1],
                     "ratio": medians[1] / medians[0], "raw": {"alone": alone, "beside": beside}})


if __name__ == "__main__":
    main()
