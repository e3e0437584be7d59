"""What isolation costs: grades of a Python grader in a second, at each level, and in a bare process for each grade.

    python -m benchmarks.sandbox [--grades N] [--out FILE]

Every way runs the same function on one answer a grade, two grades at a time. The levels run in a sandbox of two places,
a real process that is asked over gRPC; `in one run` sends 64 answers with one program. The ways take turns in rounds.
"""

import argparse
import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import grpc

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.rpc.client import blocking_channel
from hone.sandbox.client import Sandbox
from hone.sandbox.program import Ended, Program
from hone.stack import ports

GRADER = """
import json, re

def grade(sample, item):
    found = re.findall(r"-?\\d+", sample["output_text"])
    return float(bool(found) and int(found[-1]) == item["answer"])
"""
SAMPLE, ITEM = {"output_text": "3 + 4 makes 7"}, {"answer": 7}
AT_A_TIME, IN_ONE = 2, 64
LEVELS = ("none", "limits", "namespaces", "bubblewrap")
TOKEN = secrets.token_urlsafe(32)
_BARE = f"{GRADER}\nprint(json.dumps(grade(json.loads(input()), json.loads(input()))))"

Grade = Callable[[], Awaitable[None]]


@contextmanager
def serving(level: str) -> Iterator[str]:
    """Run a sandbox of a level and yield its address."""
    address = f"127.0.0.1:{ports.pick(1)[0]}"
    variables = {"HONE_SANDBOX_ADDRESS": address, "HONE_SANDBOX_ISOLATION": level, "HONE_STACK_TOKEN": TOKEN,
                 "HONE_SANDBOX_PLACES": str(AT_A_TIME)}
    command = [sys.executable, "-m", "services.sandbox"]
    with subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.DEVNULL) as process:
        try:
            with blocking_channel(address, TOKEN) as channel:
                grpc.channel_ready_future(channel).result(60)
            yield address
        finally:
            process.terminate()


async def bare() -> None:
    """Grade in a process of its own, without limits."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", _BARE, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate(f"{json.dumps(SAMPLE)}\n{json.dumps(ITEM)}\n".encode())
    assert float(said) == 1.0


def of(sandbox: Sandbox, calls: int) -> Grade:
    """Return what sends so many answers with one program."""
    program = Program(GRADER, function="grade", calls=[[SAMPLE, ITEM]] * calls)

    async def grade() -> None:
        ran = await sandbox.run(program, "tenant", "run")
        assert ran.status is Ended.FINISHED
        assert {one.value for one in ran.outcomes} == {1.0}

    return grade


async def timed(grade: Grade, count: int) -> tuple[float, list[float]]:
    """Grade `count` times, AT_A_TIME at once; return the seconds, and those of each."""
    each = list[float]()

    async def some() -> None:
        for _ in range(count // AT_A_TIME):
            began = time.perf_counter()
            await grade()
            each.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(AT_A_TIME)))
    return time.perf_counter() - began, each


async def measured(addresses: dict[str, str], grades: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Let all ways take turns, and return the figures of each."""
    async with asyncio.timeout(1800):
        sandboxes = {level: Sandbox(address, TOKEN) for level, address in addresses.items()}
        ways = {"a bare process": (bare, 1), **{level: (of(one, 1), 1) for level, one in sandboxes.items()},
                **{f"{level}, in one run": (of(one, IN_ONE), IN_ONE) for level, one in sandboxes.items()}}
        taken: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in ways}
        for turn in range(rounds + 1):
            for name, (grade, answers) in ways.items():
                runs = max(grades // rounds // answers, 8 * AT_A_TIME)
                seconds, each = await timed(grade, runs if turn else AT_A_TIME)
                if turn:  # the first turn warms up
                    taken[name][0].append(runs // AT_A_TIME * AT_A_TIME * answers / seconds)
                    taken[name][1].extend(each)
        for one in sandboxes.values():
            await one.close()
    return {name: _figures(rates, each) for name, (rates, each) in taken.items()}


def _figures(rates: Sequence[float], each: Sequence[float]) -> dict[str, Any]:
    cut = statistics.quantiles([1000 * one for one in each], n=100)
    return {"grades_a_second": statistics.median(rates), "p50_ms": cut[49], "p99_ms": cut[98],
            "raw": {"rates": list(rates), "seconds": list(each)}}


def main() -> None:
    """Measure every level that works here and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grades", type=int, default=2000, help="of each way, in all rounds together")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "sandbox.json")
    args = parser.parse_args()
    began = provenance()
    with ExitStack() as stack:
        addresses = {level: stack.enter_context(serving(level)) for level in LEVELS}
        ways = asyncio.run(measured(addresses, args.grades, args.rounds))
    store(args.out, {**began, "grades": args.grades, "at_a_time": AT_A_TIME, "in_one": IN_ONE, "ways": ways})


if __name__ == "__main__":
    main()
