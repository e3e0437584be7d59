"""The environment grader returns the environment's own score; a wrong one masks the sample."""

from typing import Any

import pytest

from hone.graders.contract import Status
from hone.graders.judgement import judged
from hone.graders.specs import checked

SPEC = checked({"type": "environment"})


@pytest.mark.parametrize("score", [0.0, 0.25, 1, 1.0])
def test_the_score_of_the_environment_is_the_grade(score: float) -> None:
    for said in ("whatever was said last", ""):
        result = judged(SPEC, {"verified": score}, said)
        assert (result.status, result.score) == (Status.OK, float(score))


@pytest.mark.parametrize("item", [{}, {"verified": None}, {"verified": True}, {"verified": "1"}, {"verified": 1.5},
                                  {"verified": -0.1}, {"verified": float("nan")}])
def test_a_row_without_a_score_is_no_fact_about_the_policy(item: dict[str, Any]) -> None:
    result = judged(SPEC, item, "x")
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)


def test_numbers_that_the_environment_names_are_components() -> None:
    item = {"verified": 1.0, "components": {"gap": 0.25, "": 1.0, "flag": True, "word": "x", "nan": float("nan")}}
    assert judged(SPEC, item, "x").components == {"gap": 0.25}


def test_figures_of_any_size_leave_the_score_as_it_is() -> None:
    item = {"verified": 0.25, "components": {"json_errors": 21.0, "memory_score": -0.5}}
    result = judged(SPEC, item, "x")
    assert (result.status, result.score, result.components) == (Status.OK, 0.25, item["components"])
