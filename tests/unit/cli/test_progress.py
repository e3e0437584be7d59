"""The live view of a run."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from hone.cli.progress import StepLines, figures, rest, view
from hone.client.resources import Metrics, Run

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


@pytest.mark.parametrize(("changes", "words"), [
    ({}, ""),
    ({"waiting_for": "3 groups to be graded"}, ""),
    ({"state": "paused"}, "paused by its user (`hone runs resume run_1`)"),
    ({"state": "paused", "reason": "its budget of 5.00 EUR is used up", "waiting_for": "a higher budget: …"},
     "paused: its budget of 5.00 EUR is used up"),
    ({"state": "queued", "waiting_for": "a driver"}, "queued; waits for a driver"),
])
def test_a_run_that_rests_says_so(changes: dict[str, Any], words: str) -> None:
    assert rest(run(**changes)) == words


class Gateway:
    """Metrics of a run that has made so many steps, and was evaluated after the first two."""

    def __init__(self) -> None:
        self.steps = 0

    def metrics(self, run_id: str, names: list[str], after_step: int) -> Metrics:
        assert run_id == "run_1"
        series = {"reward/mean": [(n, n / 10) for n in range(1, self.steps + 1)], "eval/greedy": [(0, 0.1), (1, 0.2)]}
        return Metrics(series={name: [point for point in points if point[0] > after_step]
                               for name, points in series.items() if name in names})


def test_away_from_a_terminal_each_step_is_a_line() -> None:
    gateway = Gateway()
    lines = StepLines(gateway, "run_1")  # type: ignore[arg-type]
    assert list(lines.new(run(step=0))) == [
        "evaluation after step 0  held-out, greedy 0.1", "evaluation after step 1  held-out, greedy 0.2"]
    gateway.steps = 3
    assert list(lines.new(run(step=2))) == ["step 1 of 10  reward 0.1", "step 2 of 10  reward 0.2"]
    assert list(lines.new(run(step=3, state="paused"))) == [
        "step 3 of 10  reward 0.3", "paused by its user (`hone runs resume run_1`)"]
    assert list(lines.new(run(step=3, state="paused"))) == []
    assert list(lines.new(run(step=3))) == ["running again"]
