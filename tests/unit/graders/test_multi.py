"""OpenAI's multi: the formula over several graders, its shapes, its range, and parts that mask the whole."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.right_answers import Ending, Standing
from hone.graders.right_answers import checked as reference
from hone.graders.specs import checked
from hone.spec.problems import Invalid

SHARE = {"type": "character_share", "wanted": "02468", "among": "0123456789", "name": "even"}
EQUAL = {"type": "string_check", "name": "equal", "operation": "eq", "input": "{{ sample.output_text }}",
         "reference": "{{ item.answer }}"}
EVEN42 = "8" * 42 + "1" * 58  # 0.42 of its digits are even


def multi(formula: str, graders: Any = None, **given: Any) -> dict[str, Any]:
    return {"type": "multi", "name": "m", "graders": graders or {"a": SHARE, "b": EQUAL},
            "calculate_output": formula, **given}


def graded(grader: dict[str, Any], output: str = EVEN42, **item: Any) -> Result:
    return judged(checked(grader), item or {"answer": EVEN42}, output)


def test_the_score_is_the_formulas() -> None:
    result = graded(multi("(a+b)/2"))
    assert (result.status, result.score, result.decided_by) == (Status.OK, 0.71, "multi")
    assert dict(result.components) == {"a": 0.42, "b": 1.0}


@pytest.mark.parametrize(("graders", "formula"), [
    ([SHARE, EQUAL], "even / equal"), (SHARE, "even"), ({"even": SHARE}, "even ^ 1"),
])
def test_graders_may_be_an_object_a_list_or_a_single_one(graders: Any, formula: str) -> None:
    assert graded(multi(formula, graders)).score == 0.42


def test_a_part_that_could_not_tell_masks_the_sample_and_is_named() -> None:
    lacking = EQUAL | {"reference": "{{ item.lacks }}"}
    for graders in ({"a": SHARE, "b": lacking}, {"b": lacking}):
        result = graded(multi("b", graders))
        assert (result.status, result.score, dict(result.components)) == (Status.INVALID_SPEC, None, {})
        assert result.reasons[0].startswith("b: invalid_variable_error: item.lacks")


@pytest.mark.parametrize("formula", ["a / b", "a / (b - b)", "log(b)", "0 ^ (b - 1)"])
def test_a_formula_without_a_value_masks_the_sample(formula: str) -> None:
    result = graded(multi(formula), answer="other")
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)
    assert result.reasons[0].startswith("formula_parse_error: ")


def test_the_range_is_the_formulas_unless_one_is_declared() -> None:
    assert checked(multi("(a + b) / 2")).bounds == (0, 1)
    assert checked(multi("a - 2 * b")).bounds == (-2, 1)
    assert checked(multi("a / b")).bounds == (-1e9, 1e9)
    assert graded(multi("a / b", range=[0, 0.5])).score == 0.42
    assert "is not inside [0, 0.4]" in graded(multi("a / b", range=[0, 0.4])).reasons[0]


def test_an_output_without_an_answer_for_any_part_has_none() -> None:
    assert graded(multi("a * b"), "").status is Status.NO_ANSWER


@pytest.mark.parametrize(("grader", "field", "expected"), [
    (multi("a + c"), "calculate_output", "invalid_variable_error: names of graders, not c"),
    (multi("a +"), "calculate_output", "formula_parse_error: found the end"),
    (multi("a", {"a": multi("a")}), "graders", "a grader of another type than multi at graders.a"),
    (multi("a", {"a": {**SHARE, "wanted": 1}}), "graders.a.wanted", "a valid string"),
    (multi("even", [SHARE, {**EQUAL, "operation": "is"}]), "graders[1].operation", "'eq', 'ne', 'like' or 'ilike'"),
    (multi("even", [SHARE, SHARE]), "graders", "a name of its own at graders[0]"),
    (multi("a", {"a-b": SHARE}), "graders", "of letters, digits and _, not 'a-b'"),
    (multi("a", [{"type": "exact"}]), "graders", "a name of its own at graders[0]"),
    (multi("a", range=[1, 1]), "range", "a smaller number before a larger one"),
    (multi("a", range=[1]), "range", "at least 2 values"),
    (multi("a", {"a": 5}), "graders", "a grader of another type than multi at graders.a"),
])
def test_what_is_wrong_is_named(grader: dict[str, Any], field: str, expected: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked(grader)
    assert [problem.field for problem in refused.value.problems] == [field]
    assert expected in refused.value.problems[0].expected


def test_no_graders_are_no_grader() -> None:
    with pytest.raises(Invalid, match="1 to 64 graders, not 0"):
        checked({**multi("1"), "graders": {}})


def test_components_and_references_are_those_of_the_parts() -> None:
    nested = {"type": "weighted", "parts": {"x": {"grader": SHARE}}}
    assert checked(multi("a", {"a": nested, "b": SHARE})).components == {"a", "a.x", "b"}
    assert reference(checked(multi("a + b")), {"answer": "7"}, Ending()).standing is Standing.RIGHT
    assert reference(checked(multi("a + b")), {}, Ending()).standing is Standing.WRONG


def test_the_object_is_stored_as_it_came() -> None:
    given = multi("even", [SHARE])
    assert json.loads(checked(given).json) == given
