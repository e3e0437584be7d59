"""What does a rollout worker add to the time the services take? One step of short answers, with services that answer
at once.

    python -m benchmarks.probes.rollout_overhead [--groups 64] [--samples 8] [--tokens 6] [--steps 20]

The worker is the real one, against a real PostgreSQL and an object store in a directory; inference, simulation and
reward are gRPC servers in another process that compute almost nothing. Prints JSON: seconds from claim to ready (median
and quartiles), processor seconds of the worker's process, and how many calls each service got per step.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from hone.spec.settings import Settings
from hone.store import objects
from services.rollout.worker import Worker
from tests.integration.rollout.peers import Peers
from tests.integration.rollout.rows import Run, add_run, every, register_engine
from tests.servers import postgres


def serve(pipe: Pipe, tokens: int) -> None:
    """Run the peers; tell their address, then their counts when asked."""
    async def run() -> None:
        peers = Peers(tokens)
        await peers.start()
        pipe.send(peers.address)
        while await asyncio.to_thread(pipe.recv):
            pipe.send({"Reset": peers.simulation.resets, "GenerateBatch": peers.inference.batches,
                       "Grade": len(peers.reward.requests)})
    asyncio.run(run())


async def measure(settings: Settings, run: Run, options: argparse.Namespace) -> dict[str, Any]:
    worker = await Worker.open(settings)
    await worker.resume()
    wall, cpu = [], []
    for step in range(options.steps + 1):
        run.request(options.groups, options.samples, first=step * options.groups)
        register_engine(run.url, "engine", settings.addresses.simulation)
        before, used = time.perf_counter(), time.process_time()
        await worker.work()
        wall.append(time.perf_counter() - before)
        cpu.append(time.process_time() - used)
    await worker.close()
    if set(run.states()) != {"ready"}:
        raise RuntimeError(f"groups are {set(run.states())}")
    low, middle, high = statistics.quantiles(wall[1:], n=4)  # the first step opens connections
    parts = every(run.url, "SELECT count(DISTINCT part) AS n FROM trajectories WHERE run_id = %(id)s", id=run.run_id)
    return {"wall_ms": {"p25": 1e3 * low, "p50": 1e3 * middle, "p75": 1e3 * high},
            "worker_cpu_ms": 1e3 * statistics.median(cpu[1:]), "parts_per_step": parts[0]["n"] / len(wall)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("groups", 64), ("samples", 8), ("tokens", 6), ("steps", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    peers = context.Process(target=serve, args=(theirs, options.tokens), daemon=True)
    peers.start()
    address = pipe.recv()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        home = Path(folder, "pg")
        home.mkdir(mode=0o711)
        with postgres.running(home) as server:
            database = server.database("overhead")
            settings = Settings.model_validate({
                "database_url": database.worker_url, "objects_url": f"file://{folder}/objects", "process_name": "probe",
                "addresses": {"simulation": address, "reward": address}, "claim_groups": options.groups})
            run = add_run(database.owner_url, objects.connect(settings.objects_url))
            found = asyncio.run(measure(settings, run, options))
    pipe.send(True)
    calls = {name: count / (options.steps + 1) for name, count in pipe.recv().items()}
    pipe.send(False)
    json.dump({**vars(options), **found, "calls_per_step": calls}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
