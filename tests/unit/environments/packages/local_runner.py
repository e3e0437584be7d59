"""Runs tools in this process: for tests, and for generators of our own code. Code of others runs in the sandbox."""

import json
from typing import Any

from hone.sandbox.program import Ended, Outcome, Program, Ran


class LocalRunner:
    """Runs the calls of programs as the sandbox would, without its walls and limits."""

    def run(self, program: Program) -> Ran:
        names: dict[str, Any] = {}
        try:
            exec(compile(program.source, "tools.py", "exec"), names)
        except Exception as error:  # what the code raises is its own affair, as in the sandbox
            return Ran(Ended.ERROR, f"{type(error).__name__}: {error}")
        return Ran(Ended.FINISHED, outcomes=tuple(_outcome(names[program.function], call) for call in program.calls))


def _outcome(function: Any, call: Any) -> Outcome:
    try:
        given = json.loads(json.dumps(list(call)))
        return Outcome(json.loads(json.dumps(function(*given))))
    except Exception as error:
        return Outcome(error=f"{type(error).__name__}: {error}")
