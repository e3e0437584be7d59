"""Environment packages that the seeded generator makes: seconds of CPU, tools and tasks kept, for each domain.

    python -m benchmarks.environment_packages [--tasks N] [--seeds N] [--out FILE]

Tools run in this process. Each package is made whole: tools tested, tasks proven, its report with a last replay.
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.environments.synthesis.making import make_package
from hone.environments.synthesis.report import Made
from hone.environments.synthesis.themes import THEMES

DERIVED = ("bee keeping",)
"""Hints that no domain is known for, so that one is derived."""


def measured(hint: str, tasks: int, seeds: int) -> dict[str, Any]:
    """Make the packages of a hint, one for each seed."""
    timed = [_timed(hint, seed, tasks) for seed in range(seeds)]
    made, reports = [one for _, one in timed], [one.report for _, one in timed]
    rejected = sum((Counter(report.tasks_rejected) for report in reports), Counter[str]())
    return {
        "hint": hint, "seconds": statistics.median(seconds for seconds, _ in timed),
        "tools": f"{reports[0].tools_kept} of {reports[0].tools_tried}", "tables": reports[0].tables,
        "cases": reports[0].cases, "dead_ends": sum(report.dead_ends for report in reports),
        "accepted": sum(report.tasks_accepted for report in reports),
        "tried": sum(report.tasks_tried for report in reports), "rejected": dict(rejected),
        "solvable": min(report.solvable for report in reports),
        "calls": statistics.median(_calls(made)), "most_calls": max(_calls(made)),
        "bytes": statistics.median(sum(map(len, one.package.files.values())) for one in made)}


def _timed(hint: str, seed: int, tasks: int) -> tuple[float, Made]:
    began = time.process_time()
    made = make_package(hint, seed, tasks)
    return time.process_time() - began, made


def _calls(made: Sequence[Made]) -> list[int]:
    return [len(task.chain) for one in made for task in one.package.tasks]


def main() -> None:
    """Measure all domains and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS / "environment_packages.json")
    args = parser.parse_args()
    began = provenance()
    found = [measured(hint, args.tasks, args.seeds) for hint in [*THEMES, *DERIVED]]
    store(args.out, {**began, "tasks": args.tasks, "seeds": args.seeds, "domains": found})


if __name__ == "__main__":
    main()
