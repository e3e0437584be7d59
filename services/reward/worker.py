"""`python -m services.reward.worker`: a process of the pool. It grades jobs from standard input, one JSON line each.

The pool starts it with an environment without secrets. It writes no files and ends with its parent. It answers a job
with two lines: one when the grader is ready and the time limit starts, one with the result.
"""

import json
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, BinaryIO

from hone.graders.contract import Result, Status, failure
from hone.graders.judgement import judged_together
from hone.graders.sample import Sample, Sent, received
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
    """Answer one job: `{spec, samples, about}`."""
    grader = spec(job["spec"])
    for one in grader.all:
        if one.params.type not in prepared:
            one.grader.prepare()
            prepared.add(one.params.type)
    _send(answers, {"started": True})
    with logs.about(**job["about"]):
        samples = received(Sent(**sent) for sent in job["samples"])
        _send(answers, [asdict(result) for result in limited(grader, samples, limit_s)])


def limited(grader: Spec, samples: Sequence[Sample], limit_s: float) -> list[Result]:
    """Return the results, or timeout_grader for all after `limit_s` seconds. Call it in the main thread only."""
    try:
        with interrupted(limit_s):
            return judged_together(grader, samples)
    except TimeUp:
        return [failure(Status.TIMEOUT_GRADER, f"the grader took longer than {limit_s:g} s")] * len(samples)


def _send(answers: BinaryIO, message: Any) -> None:
    answers.write(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
