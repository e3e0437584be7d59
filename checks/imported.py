"""Refuses imports that load too many of Hone's modules: a type loads no members, and a listing of commands no command.

`python -m checks.imported` imports each module in a process of its own and counts the modules of `hone` and `services`
that are loaded afterwards. It prints each count, and ends with 1 where a count reaches its bound.
"""

import subprocess
import sys
from collections.abc import Mapping

BOUNDS: Mapping[str, int] = {
    "import hone.environments.contract": 30,
    "import hone.graders.contract": 30,
    "import hone.harnesses.contract": 30,
    "import hone.client": 60,
    "from hone.cli.main import app; app(['--help'], standalone_mode=False)": 60,
}
"""Statement -> count of modules that it stays below."""

_COUNT = """
import contextlib, io, sys
with contextlib.redirect_stdout(io.StringIO()):
    exec(sys.argv[1])
print(sum(name.partition(".")[0] in ("hone", "services") for name in sys.modules))
"""


def count(statement: str) -> int:
    """Return the number of Hone's modules that a statement loads. Raises CalledProcessError where it fails."""
    ended = subprocess.run([sys.executable, "-c", _COUNT, statement], check=True, capture_output=True, text=True)
    return int(ended.stdout)


def main(bounds: Mapping[str, int] = BOUNDS) -> int:
    counts = {statement: count(statement) for statement in bounds}
    for statement, found in counts.items():
        print(f"{found:4} modules, expected below {bounds[statement]}: {statement}")
    return int(any(found >= bounds[statement] for statement, found in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
