"""Time of `Predict` over gRPC: 256 prompts by a context of 256, their features stored, or not made yet.

    python -m benchmarks.value_model.latency
"""

import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import psycopg

from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from benchmarks.stack_run import embedded, scratch
from hone.api.value_pb2 import PredictRequest, Prompt
from hone.api.value_pb2_grpc import ValueServiceStub
from hone.rpc.client import blocking_channel
from hone.store.sql import named

RESULT, CALLS, ROWS = RESULTS / "value_latency.json", 50, 256
_SQL = named(Path(__file__).with_name("latency.sql").read_text())


def main() -> None:
    """Ask the value service of a stack many times and store how long it took."""
    request = PredictRequest(run_id="run_latency", before_step=2, prompts=[
        Prompt(task_hash=f"asked{place}", text=_text(place + ROWS)) for place in range(ROWS)])
    with scratch() as place, embedded(place / "state", {}, {}) as (stack, _):
        kept = stack.record()
        with psycopg.connect(kept.database_url) as connection:
            for statement in _SQL.values():
                connection.execute(statement.encode(), {"rows": ROWS, "texts": [_text(place) for place in range(ROWS)]})
        value = ValueServiceStub(blocking_channel(kept.addresses["value-0"], kept.stack_token))
        first = _seconds(value, request)
        seconds = [_seconds(value, request) for _ in range(CALLS)]
    store(RESULT, {**provenance(), "prompts": ROWS, "context": ROWS, "calls": CALLS, "first_ms": 1e3 * first,
                   "p50_ms": 1e3 * median(seconds), "p95_ms": 1e3 * quantiles(seconds, n=20)[-1]})


def _seconds(value: Any, request: PredictRequest) -> float:
    begun = time.perf_counter()
    answer = value.Predict(request)
    if not answer.reliable or answer.context_rows != ROWS:
        raise RuntimeError(f"found {answer.context_rows} rows ({answer.reason}), expected {ROWS}")
    return time.perf_counter() - begun


def _text(place: int) -> str:
    return f"Question {place}: what is {place * 37 % 101} plus {place * 53 % 97}? Answer with the number alone. " * 3


if __name__ == "__main__":
    main()
