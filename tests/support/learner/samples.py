"""Samples of a step, and specs for them."""

from typing import Any

from hone.algorithms import presets
from hone.spec.run import AlgorithmSpec, RunSpec


def sample(group: int, index: int, score: float | None, **more: Any) -> dict[str, Any]:
    row = {"group_id": group, "request_no": group - 100, "task_hash": f"task{group}", "part": f"part{group % 2}",
           "index": index, "completion_tokens": 6, "finish_reason": "stop", "score": score,
           "grade_id": 10 * group + index, "status": "ok", "oldest": 1, "source": ""}
    return {**row, **more}


def spec(**changes: Any) -> RunSpec:
    return RunSpec.model_validate({"name": "x", "model": {"base": "b"}, "task": {"environment": "sort_digits"},
                                   "steps": 10, "batch": {"prompts": 2, "samples": 2}, **changes})


def slots(**algorithm: Any) -> dict[str, Any]:
    return presets.resolve(AlgorithmSpec.model_validate(algorithm))
