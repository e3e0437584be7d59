"""Rows of a matrix of evaluations."""

from typing import Any

from hone.resolution import resolve
from hone.spec.run import RunSpec

SORT: dict[str, Any] = {"environment": "sort_digits", "params": {"digits": 4}}
EVEN: dict[str, Any] = {"environment": "even_digits"}
TASKS = [f"{place:016x}" for place in range(40)]


def sequence(**changes: Any) -> RunSpec:
    mixture = [{"name": "sort", "weight": 1, **SORT}, {"name": "even", "weight": 1, **EVEN}]
    return resolve({"name": "a", "model": {"base": "b"}, "steps": 6, "task": {"mixture": mixture},
                    "eval": {"samples": 8}, "stages": [{"until": 2, "name": "first", "task": SORT},
                                                       {"until": 6, "name": "second", "task": EVEN}], **changes})


def evaluated(step: int, source: str, *scores: float | None) -> dict[str, Any]:
    repeated = (list(scores) * len(TASKS))[:len(TASKS)]
    return {"step": step, "source": source, "tasks": TASKS, "scores": repeated}


ROWS = [evaluated(0, "sort", 0.0, 0.5), evaluated(0, "even", 0.5), evaluated(2, "sort", 0.5, 1.0),
        evaluated(2, "even", 0.25, 0.75), evaluated(6, "sort", 0.25, 0.75), evaluated(6, "even", 1.0)]
