"""Behavioural experiments of the methods: `toy` level, each method's functions against its baseline.

    python -m benchmarks.methods NAME... [--seeds N] [--out FOLDER]     no name: all of them

Each writes FOLDER/NAME.json and NAME.svg and prints its means, and each expected direction beside what was measured.
"""

import argparse
from pathlib import Path

from benchmarks.machine import provenance
from benchmarks.methods import EXPERIMENTS
from benchmarks.methods.measured import measure
from benchmarks.methods.plot import draw
from benchmarks.results import RESULTS, store


def main() -> None:
    """Run the named experiments one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*sorted(EXPERIMENTS), []], default=[], metavar="NAME")
    parser.add_argument("--seeds", type=int, help="runs of each variant; default: the experiment's")
    parser.add_argument("--out", type=Path, default=RESULTS / "methods")
    args = parser.parse_args()
    for name in args.names or sorted(EXPERIMENTS):
        experiment = EXPERIMENTS[name]
        result, found = measure(experiment, args.seeds or experiment.seeds)
        store(args.out / f"{name}.json", {**provenance(), **result})
        draw(name, experiment, found, args.out / f"{name}.svg")


if __name__ == "__main__":
    main()
