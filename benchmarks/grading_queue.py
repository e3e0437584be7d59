"""What the queue of grades adds: a program's grade through the queue, without it, and the program alone.

    python -m benchmarks.grading_queue [--grades N] [--out FILE]

One grade after another, of outputs that all differ, by the grader `python` on an embedded stack: `Grade`, whose job is
a row that outlives the call; `RunGrader`, which stores nothing; and the sandbox's `Run` alone. Then `Grade` of 64 at
once.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.api import reward_pb2, reward_pb2_grpc
from hone.client import Client
from hone.models import toy
from hone.rpc.client import channel
from hone.sandbox.client import Sandbox
from hone.sandbox.program import Ended, Program
from hone.stack.embedded import Stack

SOURCE = "def grade(sample, item):\n    return float(len(sample['output_text']) > 1)"
GRADER = json.dumps({"type": "python", "name": "p", "source": SOURCE})
AT_ONCE = 64


class Grades:
    """Asks a stack for grades of samples of one run, each with another output."""

    def __init__(self, stub: Any, sandbox: Sandbox, tenant_id: str, run_id: str, group_id: int) -> None:
        self._stub, self._sandbox = stub, sandbox
        self._tenant_id, self._run_id, self._group_id = tenant_id, run_id, group_id
        self._made = 1000

    async def queued(self, count: int = 1) -> None:
        """Have samples graded through the queue."""
        places = range(self._made, self._made + count)
        self._made += count
        response = await self._stub.Grade(reward_pb2.GradeRequest(
            tenant_id=self._tenant_id, run_id=self._run_id, grader_json=GRADER, items=[reward_pb2.GradeItem(
                group_id=self._group_id, index=place, item_json="{}", output_text=f"answer {place}")
                for place in places]), timeout=120)
        assert [grade.score for grade in response.grades] == [1.0] * count

    async def straight(self) -> None:
        """Have an output graded, and nothing stored."""
        response = await self._stub.RunGrader(reward_pb2.RunGraderRequest(
            grader_json=GRADER, item_json="{}", output_text=f"answer {self._made}"), timeout=120)
        assert response.grade.score == 1.0

    async def program(self) -> None:
        """Run the program alone."""
        calls = [[{"output_text": f"answer {self._made}"}, {}]]
        ran = await self._sandbox.run(Program(SOURCE, function="grade", calls=calls), self._tenant_id, self._run_id)
        assert ran.status is Ended.FINISHED


async def timed(ask: Callable[[], Awaitable[None]], count: int) -> list[float]:
    """Return the milliseconds of each of `count` calls, one after another."""
    taken = list[float]()
    for _ in range(count):
        began = time.perf_counter()
        await ask()
        taken.append(1000 * (time.perf_counter() - began))
    return taken


async def measured(stack: Stack, client: Client, scratch: Path, count: int) -> dict[str, Any]:
    """Return the milliseconds of each way, taking turns, and the grades of a second where many are asked for."""
    tenant_id, run_id, group_id = _run(stack, client, scratch)
    kept = stack.record()
    async with channel(kept.addresses["reward-0"], kept.stack_token) as connection, Sandbox(
            kept.addresses["sandbox-0"], kept.stack_token) as sandbox:
        grades = Grades(reward_pb2_grpc.RewardServiceStub(connection), sandbox, tenant_id, run_id, group_id)
        ways: dict[str, Callable[[], Awaitable[None]]] = {
            "queue": grades.queued, "no queue": grades.straight, "program": grades.program}
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(6):
            for name, ask in ways.items():
                found = await timed(ask, count // 5 if turn else 4)
                taken[name] += found if turn else []
        many = await timed(lambda: grades.queued(AT_ONCE), 5)
    return {"ms": {name: _figures(each) for name, each in taken.items()},
            "added_ms": statistics.median(taken["queue"]) - statistics.median(taken["no queue"]),
            "grades_a_second": 1000 * AT_ONCE / statistics.median(many)}


def _figures(each: list[float]) -> dict[str, float]:
    cut = statistics.quantiles(each, n=100)
    return {"p50": cut[49], "p99": cut[98]}


def _run(stack: Stack, client: Client, scratch: Path) -> tuple[str, str, int]:
    """Train a step, and return its tenant, its run and one of its groups."""
    client.upload_model("toy", toy.write(scratch / "toy"))
    run = stack_run.wait_for_end(client, client.create_run({
        "name": "graded", "model": {"base": "toy"}, "task": {"environment": "sort_digits", "params": {"digits": 3}},
        "batch": {"prompts": 1, "samples": 2}, "steps": 1, "sampling": {"max_tokens": 4}, "eval": None}).id)
    with psycopg.connect(stack.record().database_url) as connection:
        row = connection.execute("SELECT tenant_id, id FROM groups WHERE run_id = %s LIMIT 1", [run.id]).fetchone()
    assert row is not None
    return str(row[0]), run.id, int(row[1])


def main() -> None:
    """Measure all ways and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grades", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULTS / "grading_queue.json")
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(scratch / "state", {}, {}) as (stack, client):
        found = asyncio.run(measured(stack, client, scratch, args.grades))
    store(args.out, {**began, "grades": args.grades, "at_once": AT_ONCE, **found})


if __name__ == "__main__":
    main()
