"""A grader behind a wait: its verdict, and the length of the wait."""

import json
from typing import Any

import pytest

from hone.graders.contract import Status
from hone.graders.judgement import judged
from hone.graders.slowed import SlowedParams, wait_s
from hone.graders.specs import spec
from hone.spec.problems import Invalid

SLOWED = {"type": "slowed", "grader": {"type": "exact"}, "seconds": 0.5}


@pytest.mark.parametrize(("output", "score"), [("5", 1.0), ("6", 0.0)])
def test_the_verdict_is_that_of_the_grader_inside(output: str, score: float) -> None:
    result = judged(spec(json.dumps(SLOWED)), {"answer": "5"}, output)
    assert (result.status, result.score, result.decided_by) == (Status.OK, score, "exact")


def test_about_one_task_in_so_many_is_a_straggler() -> None:
    params = SlowedParams.model_validate({**SLOWED, "straggler_every": 10, "straggler_seconds": 7.0})
    waits = [wait_s({"answer": str(number)}, params) for number in range(1000)]
    assert set(waits) == {0.5, 7.0}
    assert 70 <= waits.count(7.0) <= 130


def test_without_stragglers_every_grade_waits_as_long() -> None:
    params = SlowedParams.model_validate(SLOWED)
    assert {wait_s({"answer": str(number)}, params) for number in range(50)} == {0.5}


def nested(depth: int) -> dict[str, Any]:
    return {"type": "slowed", "grader": nested(depth - 1)} if depth else {"type": "exact"}


@pytest.mark.parametrize(("inner", "problem"), [
    (nested(300), "grader.grader.grader.grader: found a grader, expected at most 3 graders inside each other"),
    ({"type": "exact", "strip": 1}, "grader.strip: found 1, expected a valid boolean"),
])
def test_what_is_inside_is_checked_where_it_stands(inner: dict[str, object], problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        spec(json.dumps({**SLOWED, "grader": inner}))
    assert problem in [str(each) for each in refused.value.problems]
