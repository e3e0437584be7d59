"""Runs tools in this process: those of our own generator, and of tests. Code of others runs in the sandbox."""

import json
from functools import lru_cache
from types import CodeType
from typing import Any

from hone.sandbox.program import Ended, Outcome, Program, Ran


class LocalRunner:
    """Runs the calls of programs as the sandbox would, without its walls and limits."""

    def run(self, program: Program) -> Ran:
        names: dict[str, Any] = {}
        try:
            exec(_compiled(program.source), names)
        except Exception as error:  # what the code raises is its own affair, as in the sandbox
            return Ran(Ended.ERROR, f"{type(error).__name__}: {error}")
        return Ran(Ended.FINISHED, outcomes=tuple(_outcome(names[program.function], call) for call in program.calls))


@lru_cache(64)
def _compiled(source: str) -> CodeType:
    return compile(source, "tools.py", "exec")


def _outcome(function: Any, call: Any) -> Outcome:
    try:
        given = json.loads(json.dumps(list(call)))
        return Outcome(json.loads(json.dumps(function(*given))))
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}")
