"""The benchmark of the desk, as rows or as what gates and validator say of it; and rows of tasks from a hint.

    python -m hone.environments.desk rows > desk.jsonl
    python -m hone.environments.desk gates      ends with 1 where a task is not accepted
    python -m hone.environments.desk make "move a meeting" --tasks 8 > rows.jsonl      ends with 1 without a task
"""

import argparse
import json
import sys

from hone.environments.desk.benchmark import HASH, SEEDS, rows
from hone.environments.desk.gates import DeskDraft
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.hints import created
from hone.environments.desk.validation import ScriptedValidator, Validated, validated


def main(arguments: list[str] | None = None) -> int:
    """Write what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hone.environments.desk", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("rows")
    commands.add_parser("gates")
    make = commands.add_parser("make")
    make.add_argument("hint")
    make.add_argument("--seed", type=int, default=0)
    make.add_argument("--tasks", type=int, default=8)
    given = parser.parse_args(arguments)
    if given.what == "make":
        return _make(given.hint, given.seed, given.tasks)
    return _rows() if given.what == "rows" else _gates()


def _make(hint: str, seed: int, tasks: int) -> int:
    """Write the rows of a hint's tasks, and beside them what was tried."""
    found = created(hint, seed, tasks)
    for row in found.rows:
        print(json.dumps(row, ensure_ascii=False))
    for one in found.tried:
        print(one.family, one.seed, one.repair or "accepted", file=sys.stderr)
    print(found.reason or f"{len(found.rows)} of {tasks} tasks after {len(found.tried)} drafts", file=sys.stderr)
    return int(not found.rows)


def _rows() -> int:
    for row in rows():
        print(json.dumps(row, ensure_ascii=False))
    return 0


def _gates() -> int:
    found = {(family, seed): _validated(family, seed) for family in FAMILIES for seed in SEEDS}
    for (family, seed), one in found.items():
        print(family, seed, "refused" if one.score is None else f"{one.score:.1f}", "; ".join(one.repair))
    accepted = sum(one.accepted for one in found.values())
    print(f"{accepted} of {len(found)} accepted; benchmark {HASH[:12]}")
    return int(accepted < len(found))


def _validated(family: Family, seed: int) -> Validated:
    return validated(DeskDraft(lambda: task(family, seed)), ScriptedValidator())


if __name__ == "__main__":
    sys.exit(main())
