"""Make an environment package from a hint, into a folder.

    python -m hone.environments.synthesis HINT [--seed N] [--tasks N] --out FOLDER

Prints the report of its making as JSON. Ends with 1, and says why and what was tried, where a hint yields nothing.
"""

import argparse
import json
import sys
from pathlib import Path

from hone.environments.synthesis.hints import NoWorld
from hone.environments.synthesis.making import make_package


def main() -> None:
    """Make one package."""
    parser = argparse.ArgumentParser(prog="python -m hone.environments.synthesis", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hint")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", type=int, default=64)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    try:
        made = make_package(args.hint, args.seed, args.tasks)
    except NoWorld as error:
        sys.exit(str(error))
    args.out.mkdir(parents=True, exist_ok=True)
    for name, data in made.package.files.items():
        (args.out / name).write_bytes(data)
    print(json.dumps({"digest": made.package.digest, **made.report.as_json()}, indent=1))


if __name__ == "__main__":
    main()
