"""`python -m services.reward.worker`: a process of the pool. It grades jobs from standard input, one JSON line each.

The pool starts it with an environment without secrets. It writes no files and ends with its parent. It answers a job
with two lines: one when the grader is ready and the time limit starts, one with the result.
"""

import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType
from typing import Any, BinaryIO

from hone.graders.contract import Result, Status, failure
from hone.graders.judgement import judged
from hone.graders.specs import Spec, spec
from hone.process.ending import die_with_parent
from hone.telemetry import logs

MEMORY_BYTES = 4 * 2**30


class TimeUp(BaseException):
    """The grade takes too long. It is no Exception, so that no library catches it."""


def main() -> None:
    limit_s = float(sys.argv[1])
    confine()
    logs.configure(logging.WARNING)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # prints of a library must not look like an answer
    prepared: set[str] = set()
    for line in sys.stdin.buffer:
        work(json.loads(line), prepared, limit_s, answers)


def confine() -> None:
    """Limit memory, forbid files and core dumps, and end with the parent."""
    for limit, value in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (value, value))
    die_with_parent()


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
        with _alarm(limit_s):
            return judged(grader, item, output_text)
    except TimeUp:
        return failure(Status.TIMEOUT_GRADER, f"the grader took longer than {limit_s:g} s")


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def raise_time_up(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise TimeUp

    before = signal.signal(signal.SIGALRM, raise_time_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _send(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
