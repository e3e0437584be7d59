"""What a sample's advantage was, and why there may be none."""

from typing import Any

import pytest

from services.gateway.tokens import advantage_of


def plan(name: str, rewards: list[float | None], baseline: float | None = None) -> dict[str, Any]:
    """Return the row of a step's plan that a group is in."""
    group = {"group_id": 1, "request_no": 0, "task_hash": "h", "grade_ids": [None] * len(rewards), "rewards": rewards,
             "baseline": baseline}
    return {"advantage": {"name": name, "params": {}}, "group_plan": group}


@pytest.mark.parametrize(("name", "rewards", "index", "expected"), [
    ("dr_grpo", [1.0, 0.0, 0.5], 0, 0.5), ("dr_grpo", [1.0, None, 0.0], 2, -0.5), ("rloo", [1.0, 0.0], 0, 1.0),
    ("grpo", [1.0, 1.0], 0, 0.0), ("none", [0.0], 0, 1.0),
])
def test_from_the_rewards_of_the_group(name: str, rewards: list[float | None], index: int, expected: float) -> None:
    assert advantage_of(plan(name, rewards), index) == (expected, f"by {name}, for each trained token")


def test_a_group_of_one_is_compared_with_its_baseline() -> None:
    assert advantage_of(plan("rloo", [1.0], 0.25), 0)[0] == 0.75


def test_none_where_there_is_none() -> None:
    assert advantage_of(None, 0) == (None, "no committed step trained on this sample")
    assert advantage_of(plan("dr_grpo", [1.0, None]), 1) == (None, "the sample was masked")
    value, note = advantage_of(plan("reinforce_pp", [1.0, 0.0]), 0)
    assert value is None
    assert "whole batch" in note
