"""The stage of a run in a few words: its step, and the name of its stage if it has stages."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hone.client.resources import Run
from services.console.pages.run import _stage, _standing

STAGES = [{"until": 3, "name": "warm-up"}, {"until": 5, "name": "easy"}]


def run(step: int, state: str = "running", **spec: Any) -> Run:
    now = datetime.now(UTC)
    return Run.model_validate({
        "id": "run_1", "name": "staged", "state": state, "desired": "run", "step": step, "steps": 9,
        "model_id": "mod_1", "spec": spec, "created_at": now, "deadline": now})


@pytest.mark.parametrize(("found", "expected"), [
    (run(6), "Step 7"), (run(0, stages=STAGES), "Step 1, warm-up"), (run(3, stages=STAGES), "Step 4, easy"),
    (run(5, stages=STAGES), "Step 6"), (run(0, "queued", stages=STAGES), "Queued"),
    (run(2, "paused", stages=STAGES), "Paused, step 2"), (run(9, "succeeded"), "Succeeded, step 9"),
])
def test_the_stage_of_a_run(found: Run, expected: str) -> None:
    assert _stage(found) == expected


@pytest.mark.parametrize(("state", "said", "expected"), [
    ("queued", {"waiting_for": "a free trainer"}, ("Queued", "waits for a free trainer")),
    ("queued", {}, ("Queued", "waits for a driver that takes it up")),
    ("paused", {"reason": "the budget of the run is spent"}, ("Paused", "the budget of the run is spent")),
    ("paused", {}, ("Paused", "Resume goes on with the next step.")),
    ("running", {"waiting_for": "191 of 256 samples"}, None), ("failed", {"reason": "nan"}, None),
])
def test_a_run_that_stands_still_says_why(state: str, said: dict[str, str], expected: tuple[str, str] | None) -> None:
    found = _standing(run(3, state).model_copy(update=said))
    assert (found and found[:2]) == expected
