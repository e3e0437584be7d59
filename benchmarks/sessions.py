"""What the simulation service bears: many sessions at once, their steps, snapshots and forks, and a dialogue's turns.

    python -m benchmarks.sessions [--sessions N] [--steps N] [--out FILE]

On an embedded stack with one simulation process: for each kind of world, N sessions are started, each takes `--steps`
steps (10 at most) in batches of 64 as rollout workers send them, and some are snapshotted and forked. The package's
tools run in the sandbox: calls that wait at the same time in one program, or as work of nobody each in one of its own.
A turn of a dialogue alone is measured beside the answer of a toy model to one. Memory is the resident size of the
simulation process.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.api import simulation_pb2 as pb
from hone.api import simulation_pb2_grpc, trajectory_pb2
from hone.client import Client
from hone.environments.packages.package import Package
from hone.environments.synthesis.making import make_package
from hone.environments.tools import ToolCall
from hone.models import toy
from hone.rpc.client import channel
from hone.stack.embedded import Stack
from hone.telemetry import logs

BATCH, SAMPLED, TOKENS = 64, 64, 24
ROWS = {"1 kB": 8, "16 kB": 300, "256 kB": 5000}
"""Rows of a database, by about the size of its state."""


@dataclass(frozen=True)
class World:
    """A task, and what is done in the step of a number."""

    task: trajectory_pb2.Task
    action: Callable[[int], str]
    tenant_id: str = ""  # whose calls share programs of the sandbox; empty: each call has one of its own


def worlds(package: Package, tenant_id: str) -> dict[str, World]:
    """Return the worlds by the name of their kind."""
    query = ToolCall("query", {"sql": "SELECT count(*) FROM items"}).action()
    first = package.tasks[0].chain[0]
    called = partial(_same, ToolCall(first.tool, first.arguments).action())
    task = _task("package", {"package": package.digest, "turns": 500})
    return {
        "sqlite": World(_task("sqlite", {"turns": 100}), partial(_same, query)),
        "dialogue": World(_task("dialogue", {"domain": "orders"}), "There is a point {} to discuss.".format),
        "package, each call alone": World(task, called),
        "package": World(task, called, tenant_id),
    }


def _same(action: str, index: int) -> str:  # noqa: ARG001 — it is the same in every step
    return action


def _task(environment: str, params: Mapping[str, Any], item: Mapping[str, Any] | None = None) -> trajectory_pb2.Task:
    return trajectory_pb2.Task(environment=environment, params_json=json.dumps(params), seed=1,
                               item_json=json.dumps(item) if item else "")


class Sessions:
    """Sessions of one task at a simulation service."""

    def __init__(self, stub: Any, process: psutil.Process) -> None:
        self._stub, self._process = stub, process

    async def measured(self, world: World, count: int, steps: int) -> dict[str, float]:
        """Return what `count` sessions cost: memory after their steps, and the time of starts and of steps.

        They stay open, so that what others have let go is not used again.
        """
        before, began = self._process.memory_info().rss, time.perf_counter()
        starts = [await self._begun(world, min(BATCH, count - start)) for start in range(0, count, BATCH)]
        ids = list(chain.from_iterable(starts))
        started_s = time.perf_counter() - began
        used, taken, began = self._cpu_s(), list[float](), time.perf_counter()
        for index in range(steps):
            for start in range(0, count, BATCH):
                batch = ids[start:start + BATCH]
                taken.append(await _ms(partial(self._step, batch, index, world)))
        stepped_s, used = time.perf_counter() - began, self._cpu_s() - used
        held = self._process.memory_info().rss
        cut = statistics.quantiles(taken, n=100)
        return {"kib_a_session": (held - before) / count / 1024, "start_ms": 1000 * started_s / count,
                "steps_a_second": count * steps / stepped_s, "cpu_ms_a_step": 1000 * used / count / steps,
                "batch_p50_ms": cut[49], "batch_p99_ms": cut[98]}

    def _cpu_s(self) -> float:
        used = self._process.cpu_times()
        return used.user + used.system

    async def _begun(self, world: World, count: int) -> list[str]:
        with logs.about(tenant_id=world.tenant_id):
            answer = await self._stub.Reset(pb.ResetRequest(tasks=[world.task] * count))
        return [one.session_id for one in answer.sessions]

    async def turns(self, world: World) -> dict[str, float]:
        """Return the milliseconds of one step of one session at a time, of sessions that wait for nothing else."""
        ids = await self._begun(world, SAMPLED)
        taken = [await _ms(partial(self._step, [one], 0, world)) for one in ids]
        return {"p50": statistics.median(taken), "p99": statistics.quantiles(taken, n=100)[98]}

    async def copies(self, task: trajectory_pb2.Task) -> dict[str, float]:
        """Return the size of a session's state, and the milliseconds of a snapshot and of a fork."""
        [session] = (await self._stub.Reset(pb.ResetRequest(tasks=[task]))).sessions
        named = session.session_id
        state = (await self._stub.Snapshot(pb.SnapshotRequest(session_id=named))).state_json
        snapshots = await _several(partial(self._stub.Snapshot, pb.SnapshotRequest(session_id=named)))
        forks = await _several(partial(self._stub.Fork, pb.ForkRequest(session_id=named)))
        return {"bytes": len(state), "snapshot_ms": statistics.median(snapshots), "fork_ms": statistics.median(forks)}

    async def _step(self, ids: Sequence[str], index: int, world: World) -> None:
        with logs.about(tenant_id=world.tenant_id):
            answer = await self._stub.StepBatch(pb.StepBatchRequest(steps=[
                pb.StepRequest(session_id=one, index=index, action=world.action(index)) for one in ids]), timeout=600)
        wrong = [one for one in answer.outcomes if not one.HasField("taken")]
        assert not wrong, wrong[0]


async def _several(ask: Callable[[], Awaitable[Any]]) -> list[float]:
    return [await _ms(ask) for _ in range(SAMPLED)]


async def _ms(ask: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await ask()
    return 1000 * (time.perf_counter() - began)


async def measured(stack: Stack, count: int, steps: int, kinds: Mapping[str, World]) -> dict[str, Any]:
    """Return the figures of each kind of world, and of copies by the size of the state."""
    kept, process = stack.record(), psutil.Process(stack.pids()["simulation-0"])
    async with channel(kept.addresses["simulation-0"], kept.stack_token) as connection:
        sessions = Sessions(simulation_pb2_grpc.SimulationServiceStub(connection), process)
        found = {name: await sessions.measured(world, count, steps) for name, world in kinds.items()}
        copies = {size: await sessions.copies(_task("sqlite", {}, {
            "prompt": "?", "answer": "1", "database": _script(rows)})) for size, rows in ROWS.items()}
        turn = await sessions.turns(kinds["dialogue"])
    return {"worlds": found, "copies": copies, "turn_ms": turn}


def _script(rows: int) -> str:
    values = ", ".join(f"({place}, 'a name of some length {place}')" for place in range(rows))
    return f"CREATE TABLE items (id INTEGER, name TEXT); INSERT INTO items VALUES {values};"


def answers(client: Client, stack: Stack, scratch: Path) -> dict[str, float]:
    """Return the milliseconds of one answer of the toy model at a time, of up to TOKENS tokens, over REST."""
    client.upload_model("talker", toy.write(scratch / "talker", vocab_size=128, symbols=toy.TEXT))
    kept = stack.record()
    body = {"model": "talker", "messages": [{"role": "user", "content": "There is a point 1 to discuss."}],
            "max_tokens": TOKENS}
    with httpx.Client(base_url=kept.gateway_url, headers={"Authorization": f"Bearer {kept.api_key}"}) as http:
        taken = list[float]()
        for seed in range(-1, SAMPLED):
            began = time.perf_counter()
            http.post("/v1/chat/completions", json={**body, "seed": abs(seed)}, timeout=120).raise_for_status()
            taken += [1000 * (time.perf_counter() - began)] * (seed >= 0)  # the first one loads the model
    return {"p50": statistics.median(taken), "p99": statistics.quantiles(taken, n=100)[98]}


def _added(client: Client, scratch: Path) -> Package:
    package = make_package("a small hotel", tasks=4).package
    for name, data in package.files.items():
        (scratch / name).write_bytes(data)
    client.add_package("hotel", scratch)
    return package


def main() -> None:
    """Measure and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS / "sessions.json")
    args = parser.parse_args()
    began = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(scratch / "state", {}, {}) as (stack, client):
        kinds = worlds(_added(client, scratch), client.account().tenant_id)
        found = asyncio.run(measured(stack, args.sessions, args.steps, kinds))
        found["answer_ms"] = answers(client, stack, scratch)
    store(args.out, {**began, "sessions": args.sessions, "steps": args.steps, "batch": BATCH, **found})


if __name__ == "__main__":
    main()
