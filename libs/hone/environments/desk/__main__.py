"""The benchmark of the desk, as rows of a dataset or as a list of what its gates and its validator say.

    python -m hone.environments.desk rows > desk.jsonl
    python -m hone.environments.desk gates      ends with 1 where a task is not accepted
"""

import argparse
import json
import sys

from hone.environments.desk.benchmark import HASH, SEEDS, rows
from hone.environments.desk.gates import DeskDraft
from hone.environments.desk.generation import FAMILIES, Family, task
from hone.environments.desk.validation import ScriptedValidator, Validated, validated


def main(arguments: list[str] | None = None) -> int:
    """Write what is asked for; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hone.environments.desk", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rows", "gates"])
    return _rows() if parser.parse_args(arguments).what == "rows" else _gates()


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
