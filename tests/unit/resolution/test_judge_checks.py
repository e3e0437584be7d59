"""A run's judge_check needs a known set, and a judge that can be measured on outputs alone."""

from typing import Any

import pytest

from hone import resolution
from hone.spec.problems import Invalid

JUDGED: dict[str, Any] = {"type": "score_model", "name": "s", "model": "expert", "input": [
    {"role": "user", "content": "{{ sample.output_text }}"}]}
RUN: dict[str, Any] = {"name": "r", "model": {"base": "b"}, "task": {"environment": "sort_digits"}, "steps": 3,
                       "judge_check": {"every": 2}}


def test_a_judge_inside_a_grader_is_one() -> None:
    inside = {"type": "weighted", "parts": {"judged": {"grader": JUDGED}}}
    for grader in (JUDGED, inside):
        spec = resolution.resolve({**RUN, "grader": grader})
        assert spec.judge_check is not None
        assert (spec.judge_check.set, spec.judge_check.least) == ("short_answers", 0.6)


@pytest.mark.parametrize(("change", "field", "words"), [
    ({"grader": {"type": "exact"}}, "judge_check", "asks no judge"), ({}, "judge_check", "without a grader of its own"),
    ({"grader": JUDGED, "judge_check": {"set": "short_answer"}}, "judge_check.set", "dataset:NAME"),
    ({"grader": JUDGED, "judge_check": {"rise": 2}}, "judge_check.rise", "1"),
    ({"grader": {"type": "pairwise", "model": "expert", "task": "Which?"}}, "judge_check", "reads the group")])
def test_what_cannot_be_checked_is_refused(change: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolution.resolve({**RUN, **change})
    [problem] = [one for one in refused.value.problems if one.field == field]
    assert words in str(problem)
