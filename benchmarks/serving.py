"""What the inference service adds to its engine: a call's time, and the time from a commit to the first new token.

    python -m benchmarks.serving [--repetitions N] [--steps N] [--out FILE]

*calls*: one request at a time to an idle engine, over gRPC and in this process, in turn; 16 prompt tokens, one answer.
*publishing*: from the commit of a version (its objects are stored, its row is true) to the first token drawn from it,
which includes the notice, reading and checking the weights, taking them over between two steps, and the answer; the
engine has a run's rollouts to do meanwhile. Beside it, the same bytes copied from file to file and synced.
"""

import argparse
import os
import shutil
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import torch
from psycopg.rows import dict_row

from benchmarks import checkpoints, stack_run
from benchmarks.machine import provenance
from benchmarks.overhead import SCALES
from benchmarks.results import RESULTS, store
from benchmarks.workloads import shortened
from hone.api.inference_pb2 import GenerateRequest
from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.api.trajectory_pb2 import Sampling as WireSampling
from hone.client import Client
from hone.models.checkpoint import Checkpoint
from hone.stack.embedded import Stack
from hone.store.notifications import Listener
from hone.text.tokenizer import Tokenizer
from services.inference.native import safe_shapes
from services.inference.native.engine import FusedVersion, NativeEngine
from services.inference.native.weights import fuse
from services.inference.requests import NoiseKey, Request, Sampling

PROMPT = [4 + place for place in range(16)]
LENGTHS = (1, 64)
SLOTS, POSITIONS = 256, 512
NEWEST = Path(__file__).with_name("newest_version.sql")


def in_process(checkpoint: Path) -> Callable[[int], None]:
    """Return a function that has the engine answer with so many tokens, called directly."""
    read = Checkpoint.from_directory(checkpoint)
    shapes = safe_shapes.measure(read.architecture, SLOTS, POSITIONS)
    engine = NativeEngine(read.architecture, shapes, SLOTS, FusedVersion("v0", fuse(read), Tokenizer(read.files)))

    def ask(tokens: int) -> None:
        engine.submit(Request("only", tuple(PROMPT), 1, Sampling(tokens), NoiseKey(0, "only")))
        while engine.has_work:
            engine.step()

    return ask


def over_grpc(stub: InferenceServiceStub, model_id: str) -> Callable[[int], None]:
    """Return a function that has the service answer with so many tokens."""
    def ask(tokens: int) -> None:
        stub.Generate(_request(model_id, "", tokens), timeout=60)

    return ask


def calls(direct: Callable[[int], None], service: Callable[[int], None], repetitions: int) -> dict[str, Any]:
    """Return the milliseconds of calls on either side, taken in turn, by the number of tokens."""
    found: dict[str, Any] = {}
    for tokens in LENGTHS:
        taken: dict[str, list[float]] = {"direct": [], "service": []}
        for _ in range(repetitions):
            for name, ask in (("direct", direct), ("service", service)):
                taken[name].append(_milliseconds(ask, tokens))
        found[str(tokens)] = {**{name: _quantiles(values) for name, values in taken.items()}, "raw": taken}
    return found


def publishing(stack: Stack, client: Client, spec: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Run `spec` and return, for each of its versions, milliseconds to the first token and of the plain copy."""
    published = Listener(stack.record().database_url, "versions")
    published.wait(0.01)
    run_id, model_id = _created(client, spec)
    first_token, copies, seen = list[float](), list[float](), ""
    with stack_run.engine_channel(stack) as channel:
        stub = InferenceServiceStub(channel)
        while client.run(run_id).state not in ("succeeded", "failed", "cancelled"):
            published.wait(1.0)
            version = _newest(stack, model_id)
            if version is None or version["id"] == seen:
                continue
            stub.Generate(_request(model_id, version["id"], 1), timeout=60)
            first_token.append((datetime.now(UTC) - version["created_at"]).total_seconds() * 1000)
            seen = version["id"]
            copies.append(_copy_ms(_weights_file(stack, version["manifest"]), scratch / "copy"))
    stack_run.wait_for_end(client, run_id)
    return {"bytes": (scratch / "copy").stat().st_size, "first_token": _quantiles(first_token[1:]),
            "copy": _quantiles(copies[1:]), "raw": {"first_token": first_token, "copy": copies}}


def _created(client: Client, spec: dict[str, Any]) -> tuple[str, str]:
    run = client.create_run(spec)
    return run.id, run.model_id


def _newest(stack: Stack, model_id: str) -> dict[str, Any] | None:
    with psycopg.connect(stack.record().database_url, row_factory=dict_row) as connection:
        return connection.execute(NEWEST.read_bytes(), {"model_id": model_id}).fetchone()


def _weights_file(stack: Stack, manifest: dict[str, Any]) -> Path:
    return stack.state / "objects" / str(manifest["files"]["model.safetensors"]["key"])


def _copy_ms(source: Path, target: Path) -> float:
    began = time.perf_counter()
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return (time.perf_counter() - began) * 1000


def _request(model_id: str, version_id: str, tokens: int) -> GenerateRequest:
    return GenerateRequest(request_id=f"bench-{time.monotonic_ns()}", model_id=model_id, version_id=version_id,
                           prompt_ids=PROMPT, n=1, sampling=WireSampling(max_tokens=tokens, temperature=1.0, top_p=1.0))


def _milliseconds(ask: Callable[[int], None], tokens: int) -> float:
    began = time.perf_counter()
    ask(tokens)
    return (time.perf_counter() - began) * 1000


def _quantiles(values: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {"p50": cuts[49], "p99": cuts[98], "count": len(values)}


def main() -> None:
    """Measure and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", type=Path, default=RESULTS / "serving.json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    workload = shortened(SCALES["six_million"], args.steps)
    checkpoint = checkpoints.prepare(workload.start)
    result: dict[str, Any] = provenance()
    with stack_run.scratch() as scratch, stack_run.stack(scratch / "state", workload) as (stack, client):
        client.register_model("start", checkpoint)
        spec = {**stack_run.spec(workload, "start", "publishing", 0, skip=True), "steps": args.steps,
                "batch": {"prompts": 8, "samples": 8}}
        result["publishing"] = publishing(stack, client, spec, scratch)
        model_id = client.runs(limit=1).data[0].model_id
        with stack_run.engine_channel(stack) as channel:
            service = over_grpc(InferenceServiceStub(channel), model_id)
            result["calls"] = calls(in_process(checkpoint), service, args.repetitions)
    store(args.out, result)


if __name__ == "__main__":
    main()
