"""Old and new scores of samples side by side, and the grader that a run names for a sample."""

from types import SimpleNamespace
from typing import Any

import pytest

from hone.client.grade_resources import Regrade
from hone.client.judge_resources import JudgeTerms
from services.console.pages import grader_trial, judges, regrades
from services.console.widgets import json_field
from services.console.widgets.json_field import NoObject


def _sample(index: int, first: float | None, later: float | None) -> Regrade:
    return Regrade(group_id=1, index=index, first_status="ok", first_score=first, status="ok", score=later)


FOUND = [_sample(0, 1.0, 1.0), _sample(1, 1.0, 0.5), _sample(2, 0.0, 1.0), _sample(3, 1.0, None),
         _sample(4, None, None)]


def test_means_are_over_samples_with_both_scores() -> None:
    assert regrades.compared(FOUND) == regrades.Comparison(3, 2 / 3, 2.5 / 3, 0.5 / 3, 2)
    assert regrades.compared(FOUND[3:]) is None


def test_the_largest_difference_is_first_and_a_lost_score_before_it() -> None:
    assert [one.index for one in regrades.largest_first(FOUND)] == [3, 2, 1, 0, 4]
    assert [one.index for one in FOUND if regrades.differs(one)] == [1, 2, 3]


EXACT, MATH = {"type": "exact"}, {"type": "math"}


@pytest.mark.parametrize(("spec", "source", "expected"), [
    ({}, "", "environment"), ({"grader": EXACT}, "", "exact"),
    ({"grader": EXACT, "task": {"mixture": [{"name": "a", "grader": MATH}, {"name": "b"}]}}, "a", "math"),
    ({"grader": EXACT, "task": {"mixture": [{"name": "a", "grader": MATH}, {"name": "b"}]}}, "b", "exact"),
    ({"grader": EXACT, "eval": {"sources": [{"name": "h", "grader": MATH}]}}, "h", "math"),
    ({"grader": EXACT, "stages": [{"until": 4, "grader": MATH}, {"until": 9, "grader": None}]}, "", "math"),
    ({"grader": EXACT, "stages": [{"until": 3, "grader": MATH}, {"until": 9, "grader": None}]}, "", "exact"),
    ({"grader": EXACT, "stages": [{"until": 9, "grader": None, "task": {"environment": "x"}}]}, "", "environment")])
def test_the_grader_is_that_of_the_source_the_stage_or_the_run(
    spec: dict[str, Any], source: str, expected: str,
) -> None:
    assert grader_trial.grader_of(spec, source, 4)["type"] == expected


def test_graders_read_the_last_answer_of_the_policy_outside_of_forks() -> None:
    calls = [{"role": "policy", "number": "0", "begun": "<a>", "text": "4"}, {"role": "policy", "number": "1.0.0",
             "text": "fork"}, {"role": "user", "number": "2", "text": "thanks"}]
    sample: Any = SimpleNamespace(calls=calls)
    assert grader_trial.output_of(sample) == "<a>4"
    calls.clear()
    assert grader_trial.output_of(sample) == "", "it ended before its first call"


@pytest.mark.parametrize(("text", "expected"), [
    ("", "Nothing is written"), ('{"type"', "Line 1, column 8"), ("{\n 7}", "Line 2, column 2"), ("[1]", "Found [1]"),
    ('{"a": NaN}', "NaN"), ('{"a": "\\ud800"}', "lone surrogate"), ("[" * 100_000, "nested too deep"),
    ('{"a": ' + "9" * 5000 + "}", "digits")])
def test_a_text_that_is_no_object_says_where(text: str, expected: str) -> None:
    with pytest.raises(NoObject, match=expected.replace("[", r"\[")):
        json_field.read(text)
    assert json_field.read('{"a": {"b": 1}}') == {"a": {"b": 1}}


def test_terms_are_those_that_were_given() -> None:
    assert judges.terms_in_words(JudgeTerms()) == ""
    assert judges.terms_in_words(JudgeTerms(per_minute=600, seeds=False)) == "per_minute 600, seeds False"
