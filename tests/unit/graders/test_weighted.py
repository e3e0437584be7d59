"""Several graders as one: the weighted mean, each part by its name, and parts that mask the whole."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.specs import spec
from hone.spec.problems import Invalid

RIGHT, EVEN = {"type": "exact"}, {"type": "character_share", "wanted": "02468", "among": "0123456789"}
BOTH = {"right": {"grader": RIGHT, "weight": 3.0}, "even": {"grader": EVEN}}


def graded(output: str, parts: dict[str, Any] = BOTH, **item: Any) -> Result:
    return judged(spec(json.dumps({"type": "weighted", "parts": parts})), {"answer": "42", **item}, output)


@pytest.mark.parametrize(("output", "score", "right", "even"), [
    ("42", 1.0, 1.0, 1.0), ("44", 0.25, 0.0, 1.0), ("43", 0.125, 0.0, 0.5), ("51", 0.0, 0.0, 0.0),
])
def test_the_score_is_the_weighted_mean_of_the_parts(output: str, score: float, right: float, even: float) -> None:
    result = graded(output)
    assert (result.status, result.score, dict(result.components)) == (Status.OK, score, {"right": right, "even": even})


def test_an_output_without_an_answer_for_one_part_is_judged_by_the_others() -> None:
    result = graded("no digits")
    assert (result.status, result.score, result.components["even"]) == (Status.OK, 0.0, 0.0)
    assert [reason.split(":")[0] for reason in result.reasons] == ["even"]


def test_an_empty_output_has_no_answer_for_any_part() -> None:
    result = graded("")
    assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)
    assert dict(result.components) == {"right": 0.0, "even": 0.0}


def test_a_part_that_could_not_tell_masks_the_sample_and_is_named() -> None:
    result = judged(spec(json.dumps({"type": "weighted", "parts": BOTH})), {}, "42")  # no answer in the row
    assert (result.status, result.score, dict(result.components)) == (Status.INVALID_SPEC, None, {})
    assert result.reasons[0].startswith("right: ")


@pytest.mark.parametrize(("parts", "problem"), [
    ({}, "parts: found "), ({"": {"grader": RIGHT}}, "parts"), ({"a\0": {"grader": RIGHT}}, "parts"),
    ({"a" * 65: {"grader": RIGHT}}, "parts"),
    ({"a": {"grader": {"type": "exactt"}}}, "parts.a.grader.type: found \"exactt\""),
    ({"a": {"grader": RIGHT, "weight": 0.0}}, "parts.a.weight: found 0.0"),
])
def test_what_is_wrong_inside_is_named(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        spec(json.dumps({"type": "weighted", "parts": parts}))
    assert any(problem in str(each) for each in refused.value.problems)


def test_a_whole_may_be_a_part_of_another() -> None:
    result = graded("44", {"first": {"grader": {"type": "weighted", "parts": BOTH}}, "right": {"grader": RIGHT}})
    assert result.score == 0.125
    assert dict(result.components) == {"first": 0.25, "first.right": 0.0, "first.even": 1.0, "right": 0.0}
