"""Seconds that a run needs to go on after a process of each kind was killed, from the acceptance test's own clock.

    python -m benchmarks.recovery [--out FILE]

Runs the acceptance tests that kill processes, on every back end, of episodes of several turns, of a trainer of two
ranks and of the vLLM engine (`make vllm`), and collects what they print.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store

SUITES = ("tests/acceptance/test_kills.py", "tests/acceptance/test_turns.py", "tests/acceptance/test_ranks.py",
          "tests/with_vllm/test_runs.py")
_PRINTED = re.compile(r"seconds to the next steps on (?P<backend>\w+): (?P<kinds>\{.*\})$", re.MULTILINE)


class NothingMeasured(Exception):
    """The kill suites passed without saying how long any recovery took."""


def recoveries(output: str) -> dict[str, Any]:
    """Return count, median and longest recovery by back end and kind. Raises NothingMeasured."""
    found = {match["backend"]: json.loads(match["kinds"]) for match in _PRINTED.finditer(output)}
    if not found:
        raise NothingMeasured("the kill suites printed no recovery seconds")
    return found


def main() -> None:
    """Run the suites and write the JSON; a failing one fails this too."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS / "recovery.json")
    chosen = parser.parse_args()
    began = provenance()
    command = [sys.executable, "-m", "pytest", "-s", *SUITES]
    suite = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    sys.stderr.write(suite.stdout)
    suite.check_returncode()
    store(chosen.out, {**began, "backends": recoveries(suite.stdout)})


if __name__ == "__main__":
    main()
