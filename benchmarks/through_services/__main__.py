"""Learning curves `through the services`: methods as managed runs on an embedded stack, against GRPO.

    python -m benchmarks.through_services [NAME ...] [--seeds 0 1 2] [--abreast 2] [--out FILE]    no name: all of them

Arms of a comparison have equal starts, tasks, rollouts and seeds. What FILE holds of other names stays. Then
`python -m benchmarks.through_services.report` draws the curves and writes docs/measured/through-the-services.md.
"""

import argparse
from pathlib import Path

from benchmarks import stack_run
from benchmarks.through_services.comparisons import COMPARISONS
from benchmarks.through_services.results import RESULT, keep, measured
from benchmarks.through_services.session import Session


def main() -> None:
    """Run the named comparisons on one stack and store what came of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.through_services", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*COMPARISONS, []], default=[], metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--abreast", type=int, default=2, help="runs at a time, each with a trainer of its own")
    parser.add_argument("--out", type=Path, default=RESULT)
    args = parser.parse_args()
    names = args.names or list(COMPARISONS)
    counts = {"trainer": args.abreast}
    with stack_run.scratch() as scratch, stack_run.embedded(scratch / "state", {}, counts) as (_, client):
        session = Session(client, scratch, args.abreast)
        begun = {name: session.begin(COMPARISONS[name], args.seeds) for name in names}
        for name, arms in begun.items():
            runs = {arm: [one.result() for one in made] for arm, made in arms.items()}
            keep(args.out, {name: measured(COMPARISONS[name].arms, runs)}, session.starts())


if __name__ == "__main__":
    main()
