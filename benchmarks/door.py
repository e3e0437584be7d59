"""What the door adds to a call: TLS, the look at the key, and the way to the service.

    python -m benchmarks.door [--rounds N] [--calls N] [--out FILE]

One client asks again for a step that was taken, one call after another: at the service with the stack's token, and
through the door with an API key over TLS. The two take turns in rounds, so that both see the same machine.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from benchmarks import stack_run
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.api.simulation_pb2 import ResetRequest, StepRequest
from hone.api.simulation_pb2_grpc import SimulationServiceStub
from hone.api.trajectory_pb2 import Task
from hone.rpc.client import blocking_channel
from hone.stack.record import Record

Way = Callable[[], Any]
NOBODY = dict.fromkeys(("inference", "reward", "value", "rollout", "trainer", "driver"), 0)


def measure(ways: dict[str, Way], rounds: int, calls: int) -> dict[str, Any]:
    """Return milliseconds of each way: p50 and p99 of all calls, and the median of the rounds' differences."""
    raw: dict[str, list[list[float]]] = {name: [] for name in ways}
    for way in ways.values():
        _times(way, calls)  # connections, caches
    for _ in range(rounds):
        for name, way in ways.items():
            raw[name].append(_times(way, calls))
    added = [_quantiles(through)["p50"] - _quantiles(direct)["p50"]
             for direct, through in zip(raw["direct"], raw["door"], strict=True)]
    return {"ways": {name: _quantiles([one for part in parts for one in part]) for name, parts in raw.items()},
            "added_p50": statistics.median(added), "raw": {"added_p50": added}}


def _times(way: Way, calls: int) -> list[float]:
    taken = []
    for _ in range(calls):
        began = time.perf_counter()
        way()
        taken.append(1000 * (time.perf_counter() - began))
    return taken


def _quantiles(milliseconds: Sequence[float]) -> dict[str, float]:
    cut = statistics.quantiles(milliseconds, n=100)
    return {"p50": cut[49], "p99": cut[98]}


def through_the_door(record: Record) -> grpc.Channel:
    """Open a channel as a client of another system does."""
    trusted = grpc.ssl_channel_credentials(Path(record.door_certificate).read_bytes())
    key = grpc.access_token_call_credentials(record.api_key)
    return grpc.secure_channel(record.door_address, grpc.composite_channel_credentials(trusted, key))


def _step(channel: grpc.Channel) -> Way:
    """Return a call that asks for the first step of a session, which is taken once."""
    stub = SimulationServiceStub(channel)
    task = Task(environment="sort_turns", params_json="{}", seed=3)
    session = stub.Reset(ResetRequest(tasks=[task]), timeout=30).sessions[0]
    return partial(stub.Step, StepRequest(session_id=session.session_id, index=0, action="1"), timeout=10)


def main() -> None:
    """Measure both ways and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--out", type=Path, default=RESULTS / "door.json")
    args = parser.parse_args()
    with stack_run.scratch() as scratch, stack_run.embedded(scratch / "state", {}, {**NOBODY, "door": 1}) as (stack, _):
        record = stack.record()
        with blocking_channel(record.addresses["simulation-0"], record.stack_token) as direct, \
                through_the_door(record) as door:
            ways = {name: _step(channel) for name, channel in (("direct", direct), ("door", door))}
            result = {**provenance(), "rounds": args.rounds, "calls": args.calls,
                      **measure(ways, args.rounds, args.calls)}
    store(args.out, result)


if __name__ == "__main__":
    main()
