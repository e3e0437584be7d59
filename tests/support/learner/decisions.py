"""Decisions at the steps of a run."""

from dataclasses import replace
from typing import Any

from hone.spec.run import RunSpec
from services.learner.driver.view import Memory, View

PROMPTS, STEPS = 2, 6


def spec(**changes: Any) -> RunSpec:
    return RunSpec.model_validate({
        "name": "x", "model": {"base": "b"}, "task": {"environment": "sort_digits"}, "steps": STEPS, "eval": None,
        "deadline_s": 60, "batch": {"prompts": PROMPTS, "samples": 2}, "algorithm": "grpo", **changes})


def at(committed: int, planned: int | None = None, **changes: Any) -> View:
    """Return the view of a run whose last steps are these, which does not wait for anybody."""
    return replace(View(
        desired="run", state="running", past_deadline=False, failure=None, committed=committed,
        planned=committed if planned is None else planned, stage=0, version_id=f"ver_{committed}",
        memory=Memory(evaluated=frozenset(range(committed)), next_task=2 * committed, base_requested=True)), **changes)


NEW = at(0, version_id=None, memory=Memory())
