"""The live view of a run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from hone.cli.progress import figures, view
from hone.client.resources import Run

START = datetime(2026, 1, 1, tzinfo=UTC)


def run(**changes: Any) -> Run:
    facts: dict[str, Any] = {
        "id": "run_1", "name": "sort", "state": "running", "desired": "run", "step": 4, "steps": 10, "model_id": "m",
        "created_at": START, "started_at": START, "deadline": START, "spec": {},
        "metrics": {"reward/mean": 0.5, "eval/sampled": 0.75, "gap/mean": 1e-6, "completion/tokens": 300.0}}
    return Run.model_validate({**facts, **changes})


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, {"reward": "0.5", "held-out, sampled": "0.75", "gap, nats a token": "1e-06", "tokens/s": "150",
          "left": "0:12"}),
    ({"metrics": {}, "step": 0}, {}),
    ({"metrics": {}, "steps": 3604}, {"left": "2:00:00"}),
    ({"metrics": {}, "step": 10, "ended_at": START + timedelta(seconds=30)}, {}),
])
def test_figures(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert figures(run(**changes), START + timedelta(seconds=8)) == expected


def test_the_reason_for_waiting_is_shown() -> None:
    console = Console(width=160, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(view(run(waiting_for="3 groups to be graded"), START))
    text = console.export_text()
    assert "step 4 of 10" in text
    assert "waits for 3 groups to be graded" in text
