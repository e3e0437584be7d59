"""A row's own reference, graded as if it were the output."""

from typing import Any

import pytest

from hone.graders import right_answers
from hone.graders.contract import Result, RightOutput, Status
from hone.graders.right_answers import Ending, Standing
from hone.graders.specs import checked

RIGHT, WRONG, UNKNOWN = Standing.RIGHT, Standing.WRONG, Standing.UNKNOWN
TEXT, FIELD = "{{ sample.output_text }}", "{{ sample.output_json.parts.0.value }}"
SHARE = {"type": "character_share", "wanted": "a", "among": "ab"}


def equal(**given: Any) -> dict[str, Any]:
    return {"type": "string_check", "operation": "eq", "input": TEXT, "reference": "{{ item.answer }}", **given}


def parts(**graders: dict[str, Any]) -> dict[str, Any]:
    return {"type": "weighted", "parts": {name: {"grader": grader} for name, grader in graders.items()}}


@pytest.mark.parametrize(("grader", "row", "standing", "reason"), [
    ({"type": "exact"}, {"answer": "a\nb"}, RIGHT, ""),
    ({"type": "exact"}, {"answer": 7}, RIGHT, ""),
    ({"type": "exact"}, {"answers": "7"}, WRONG, "invalid_spec: invalid_variable_error: item.answer is not in"),
    ({"type": "exact"}, {"answer": " "}, WRONG, "a score of 0 instead of 1; the output is empty"),
    ({"type": "exact"}, {"answer": "<think>7"}, WRONG, "a score of 0 instead of 1; the reasoning never ends"),
    ({"type": "numeric"}, {"answer": "#### 42"}, RIGHT, ""),
    ({"type": "numeric"}, {"answer": "forty-two"}, WRONG, "invalid_spec"),
    ({"type": "numeric", "reference": TEXT}, {}, UNKNOWN, "reads the output"),
    ({"type": "math"}, {"answer": "1/2"}, RIGHT, ""),
    ({"type": "math"}, {"answer": r"so \boxed{\frac12}"}, RIGHT, ""),
    ({"type": "math", "boxed": "optional"}, {"answer": "B"}, RIGHT, ""),
    ({"type": "math"}, {"answer": r"\frac{"}, WRONG, ""),
    (equal(), {"answer": "a"}, RIGHT, ""),
    (equal(input=FIELD), {"answer": "a"}, RIGHT, ""),
    (equal(operation="ilike"), {"answer": "a"}, RIGHT, ""),
    (equal(operation="ne"), {"answer": "a"}, UNKNOWN, "operation ne"),
    (equal(input=f"- {TEXT}"), {"answer": "a"}, UNKNOWN, "not a single whole text"),
    ({"type": "verdict"}, {"label": "No", "rho": 0.3}, RIGHT, ""),
    ({"type": "verdict", "verdict": "word"}, {"label": "Yes", "rho": 0.9}, RIGHT, ""),
    ({"type": "verdict"}, {"label": "no", "rho": 0.3}, WRONG, "invalid_spec: item.label"),
    ({"type": "reasoning_gym"}, {"answer": None}, UNKNOWN, "several are right"),
    (SHARE, {}, UNKNOWN, "has no reference"),
    ({"type": "environment"}, {"verified": 1}, UNKNOWN, "has no reference"),
    ({"type": "slowed", "grader": {"type": "exact"}, "seconds": 3600}, {"answer": "a"}, RIGHT, ""),
    (parts(right={"type": "exact"}, brief=SHARE), {"answer": "a"}, RIGHT, ""),
    (parts(brief=SHARE, near={"type": "numeric"}), {"answer": "a"}, WRONG, "parts.near.grader: invalid_spec"),
    (parts(brief=SHARE), {"answer": "a"}, UNKNOWN, "parts.brief.grader: a grader of type character_share"),
])
def test_a_reference_is_right_wrong_or_unknown(
        grader: dict[str, Any], row: dict[str, Any], standing: Standing, reason: str) -> None:
    found = right_answers.checked(checked(grader), row, Ending())
    assert (found.standing, bool(found.reason)) == (standing, standing is not RIGHT)
    assert reason in found.reason


@pytest.mark.parametrize(("ending", "standing"), [
    (Ending(), RIGHT), (Ending(("\n",)), WRONG), (Ending(("\n",), include_stop=True), WRONG), (Ending(("b",)), WRONG),
    (Ending(("b",), include_stop=True), RIGHT)])
def test_a_reference_that_contains_a_stop_text_is_cut_there(ending: Ending, standing: Standing) -> None:
    found = right_answers.checked(checked({"type": "exact"}), {"answer": "a\nb"}, ending)
    assert found.standing is standing
    assert ("a stop text of the run cuts it short" in found.reason) == (standing is WRONG)


@pytest.mark.parametrize(("status", "standing"), [
    (Status.INFRA_ERROR, UNKNOWN), (Status.JUDGE_ERROR, UNKNOWN), (Status.TIMEOUT_GRADER, WRONG),
    (Status.INVALID_SPEC, WRONG)])
def test_a_failure_of_ours_says_nothing_about_a_row(status: Status, standing: Standing) -> None:
    found = right_answers.compared(RightOutput("7"), Result(status, None, reasons=("why",)))
    assert (found.standing, found.reason, found.output) == (standing, f"{status}; why", "7")


def test_a_long_reference_is_shown_shortened() -> None:
    assert len(right_answers.checked(checked({"type": "exact"}), {"answer": "7" * 999}, Ending()).output) == 201
