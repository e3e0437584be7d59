"""Runs programs in a process of their own, as the sandbox does, without its walls."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from hone.sandbox.program import Ended, Outcome, Program, Ran

_MAIN = """
import json, sys, traceback
exec(compile(open("program.py").read(), "program.py", "exec"))
calls, answers = json.load(open("calls.json")), open("answers.jsonl", "w")
for call in calls:
    try:
        answers.write(json.dumps({"value": globals()[sys.argv[1]](*call)}) + "\\n")
    except BaseException:
        answers.write(json.dumps({"error": traceback.format_exc()}) + "\\n")
    answers.flush()
"""


class ProcessRunner:
    """A runner for tests. `lost`: the sandbox is away."""

    def __init__(self) -> None:
        self.lost, self.runs = False, 0

    def run(self, program: Program) -> Ran:
        """Return what a program did."""
        self.runs += 1
        if self.lost:
            return Ran(Ended.INFRA_ERROR, "it is away")
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            for path, content in program.files.items():
                (home / path).parent.mkdir(parents=True, exist_ok=True)
                (home / path).write_bytes(content)
            (home / "program.py").write_text(program.source)
            (home / "calls.json").write_text(json.dumps(list(map(list, program.calls))))
            return _ran(home, program)


def _ran(home: Path, program: Program) -> Ran:
    try:
        ended = subprocess.run([sys.executable, "-c", _MAIN, program.function], cwd=home, timeout=program.limits.wall_s,
                               capture_output=True, text=True, check=False)
    except subprocess.TimeoutExpired:
        return Ran(Ended.TIME_LIMIT, "it took too long", _outcomes(home))
    outcomes = _outcomes(home)
    if len(outcomes) < len(program.calls):
        return Ran(Ended.ENDED if outcomes else Ended.ERROR, ended.stderr.strip().rpartition("\n")[2], outcomes)
    return Ran(Ended.FINISHED, outcomes=outcomes)


def _outcomes(home: Path) -> tuple[Outcome, ...]:
    written = home / "answers.jsonl"
    lines = written.read_text().splitlines() if written.exists() else []
    return tuple(Outcome(**json.loads(line)) for line in lines)
