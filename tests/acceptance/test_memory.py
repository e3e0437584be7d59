"""Rows that eat the memory of a process fail their own run with the reason; another tenant's run trains beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hone.client import Client
from hone.models import toy as models
from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

STEPS = 4
LARGE = ("CREATE TABLE t(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) "
         "INSERT INTO t SELECT zeroblob(1900) FROM n;")
"""Makes a database of 15 MiB, which each sample gets a copy of."""


@pytest.fixture(scope="module")
def beside(plain: Scene, bases: Callable[..., Path]) -> Client:
    """A client of another tenant."""
    tenant = plain.client.create_tenant("memory-beside")
    client = Client(plain.stack.record().gateway_url, plain.client.create_tenant_key(tenant.id, "first").secret)
    client.upload_model("memory-base", bases(steps=40, careless=0.5))
    return client


@pytest.fixture(scope="module")
def wordy(plain: Scene, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a random model that reads English."""
    directory = tmp_path_factory.mktemp("wordy")
    for name, data in models.files(
            0, layers=1, hidden=32, heads=1, ffn=64, vocab_size=128, symbols=models.TEXT).items():
        (directory / name).write_bytes(data)
    plain.client.upload_model("memory-wordy", directory)
    return "memory-wordy"


EATERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "simulation": ({"database": LARGE}, {
        "task": {"dataset": "memory-simulation", "environment": "sqlite"}, "batch": {"prompts": 2, "samples": 48},
        "harness": {"name": "tool_loop", "params": {"syntax": "line", "describe": False}}}),
    "rollout": ({"pad": "x" * 10**6}, {"batch": {"prompts": 2, "samples": 150}}),
}
"""By process: fields of a row, and of the spec of a run. Each session holds its database, and each sample its row."""


@pytest.mark.parametrize("process", EATERS)
def test_rows_that_eat_memory_fail_their_run_with_the_reason(
        plain: Scene, beside: Client, wordy: str, tmp_path: Path, process: str) -> None:
    before, name, (fields, changes) = plain.stack.pids(), f"memory-{process}", EATERS[process]
    rows = [{"prompt": f"how {number}?", "answer": str(number), **fields} for number in (1, 2)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    plain.client.upload_dataset(name, tmp_path / "rows.jsonl")
    eating = plain.client.create_run(toy.spec(name, wordy, STEPS, **{
        "eval": None, "sampling": {"max_tokens": 4}, "task": {"dataset": name}, **changes}))
    healthy = beside.create_run(toy.spec(f"beside-{process}", "memory-base", STEPS, eval=None))
    ended = wait_for(f"the end of {name}", lambda: plain.ended(eating.id), 400)
    assert ended.state == "failed"
    assert f"it ended two processes, {process} last: its memory was" in str(ended.reason)
    wait_for("the run beside it", lambda: beside.run(healthy.id).state == "succeeded", 240)
    plain.stack.wait_ready(60)
    after = plain.stack.pids()
    restarted = {kind.rpartition("-")[0] for kind in before if after[kind] != before[kind]}
    assert {process} <= restarted <= {"rollout", "simulation"}, "both hold such rows; nobody else ends"
