"""Tries parameters of a foreign environment: a process of its own, bounded in time and memory, makes a first question.

`python -m hone.environments.trial NAME SECONDS` reads parameters as JSON and prints their problem as JSON, or null.
"""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from functools import lru_cache
from typing import Any

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import WrongParams

Problem = tuple[str, object, str]
"""Field, what was found, what was expected."""
LONGEST_S, MOST_BYTES = 20, 4 * 2**30
"""Bounds of a trial: seconds of a processor, and memory."""
_WAITED = 3
"""How often LONGEST_S a trial is waited for: on a busy machine it has a part of a processor alone."""
_FORGOTTEN_S = 60
"""Longest time for which a problem is remembered. What has none is remembered for longer."""
_ROOM = threading.BoundedSemaphore(2)
"""Bounds the trials that run at once."""
_FIXED = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Environment variables that every process sets before it draws questions."""


def tried(environment: str, params: dict[str, Any]) -> None:
    """Make a first question. Raises WrongParams when that fails, or needs more than LONGEST_S or MOST_BYTES."""
    _tried(environment, json.dumps(params, sort_keys=True))


@lru_cache(maxsize=1024)
def _tried(environment: str, params: str) -> None:
    if problem := _outcome(environment, params, int(time.monotonic() / _FORGOTTEN_S)):
        raise WrongParams(*problem)


@lru_cache(maxsize=64)
def _outcome(environment: str, params: str, period: int) -> Problem | None:  # noqa: ARG001
    """Return the fault. Readers of a spec ask several times; a machine that was busy may do it in a minute."""
    command = [sys.executable, "-m", "hone.environments.trial", environment, str(LONGEST_S)]
    bounds = f"what makes a question within {LONGEST_S} s of a processor and {MOST_BYTES // 2**30} GiB"
    try:
        with _ROOM:
            answer = subprocess.run(command, input=params, capture_output=True, text=True, timeout=_WAITED * LONGEST_S,
                                    env={**os.environ, **_FIXED}, check=False)
    except subprocess.TimeoutExpired:
        return "params", json.loads(params), bounds
    if answer.returncode:
        ended = answer.stderr.strip().rpartition("\n")[2] or f"exit status {answer.returncode}"
        return "params", json.loads(params), f"{bounds} ({ended})"
    found: Problem | None = json.loads(answer.stdout.splitlines()[-1])
    return found


def _problem(environment: str, params: dict[str, Any]) -> Problem | None:
    asks = ENVIRONMENTS[environment]
    try:
        asks.messages(asks.params.model_validate(params), 0, None)
    except WrongParams as error:
        return error.field, error.found, error.expected
    return None


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    name, seconds = sys.argv[1], int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    print(json.dumps(_problem(name, json.load(sys.stdin))))


if __name__ == "__main__":
    main()
