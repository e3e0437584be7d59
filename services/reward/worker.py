"""`python -m services.reward.worker`: a process of the pool. It grades jobs from standard input, one JSON line each.

The pool starts it with an environment without secrets. It writes no files and ends with its parent. It answers a job
with two lines: one when the grader is ready and the time limit starts, one with the result.
"""

import json
import logging
import os
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

from hone.graders.contract import Result, Status, failure
from hone.graders.judgement import judged
from hone.graders.specs import Spec, spec
from hone.process.confined import TimeUp, confine, interrupted
from hone.process.ending import die_with_parent
from hone.telemetry import logs


def main() -> None:
    limit_s = float(sys.argv[1])
    confine()
    die_with_parent()
    logs.configure(logging.WARNING)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # prints of a library must not look like an answer
    prepared: set[str] = set()
    for line in sys.stdin.buffer:
        work(json.loads(line), prepared, limit_s, answers)


def work(job: dict[str, Any], prepared: set[str], limit_s: float, answers: BinaryIO) -> None:
    """Answer one job: `{spec, item, output_text, about}`."""
    grader = spec(job["spec"])
    if grader.params.type not in prepared:
        grader.grader.prepare()
        prepared.add(grader.params.type)
    _send(answers, {"started": True})
    with logs.about(**job["about"]):
        _send(answers, asdict(limited(grader, json.loads(job["item"]), job["output_text"], limit_s)))


def limited(grader: Spec, item: dict[str, Any], output_text: str, limit_s: float) -> Result:
    """Return the result, or timeout_grader after `limit_s` seconds. Call it in the main thread only."""
    try:
        with interrupted(limit_s):
            return judged(grader, item, output_text)
    except TimeUp:
        return failure(Status.TIMEOUT_GRADER, f"the grader took longer than {limit_s:g} s")


def _send(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
