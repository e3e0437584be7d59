"""Stored samples of tasks with a memory."""

from dataclasses import asdict
from typing import Any

from hone.trajectory.records import Trajectory
from tests.support.algorithms.periods import period

LIFE = {"environment": "changing_user", "params": {"words": "plain", "life": {"periods": 1}}}
LIVED = (period(0, (None, "write")), period(1, (None, None)))


def sample(group: int, *results: Any) -> Trajectory:
    return Trajectory(group_id=group, index=0, request_no=0, task_hash="", calls=[], steps=[], status="ok",
                      task={**LIFE, "seed": 0, "item": None}, score=1.0, grade_id=0,
                      item={"user_seed": 0, "periods": [asdict(one) for one in results]})
