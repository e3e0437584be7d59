"""A run's judge_check needs a known set, and a judge that can be measured on outputs alone."""

from typing import Any

import pytest

from hone import resolution
from hone.resolution.judge_checks import gated
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


PAIRWISE: dict[str, Any] = {"type": "pairwise", "model": "expert", "task": "Which?"}
SORTED: dict[str, Any] = {"environment": "sort_digits"}


def judged(by: str) -> dict[str, Any]:
    return {**JUDGED, "model": by}


def test_graders_of_stages_and_of_sources_are_gated_once_each() -> None:
    sources = [{"name": "a", **SORTED, "grader": judged("first")}, {"name": "b", **SORTED, "grader": judged("second")},
               {"name": "c", **SORTED, "grader": {"type": "exact"}}]
    spec = resolution.resolve({**RUN, "task": {"mixture": [{"weight": 1.0, **one} for one in sources]}})
    assert [(one.label, sorted(one.stages)) for one in gated(spec)] == [("a", [0]), ("b", [0])]
    staged = resolution.resolve({**RUN, "grader": judged("first"), "stages": [
        {"until": 1, "name": "begin"}, {"until": 2, "name": "other", "grader": judged("second")}]})
    assert [(one.label, sorted(one.stages)) for one in gated(staged)] == [("begin-0", [0, 2]), ("other-1", [1])]
    alone = resolution.resolve({**RUN, "stages": [{"until": 2, "name": "late", "grader": judged("first")}]})
    assert [(one.label, sorted(one.stages)) for one in gated(alone)] == [("", [0])]


def test_a_grader_of_a_stage_that_cannot_be_checked_is_refused() -> None:
    with pytest.raises(Invalid, match="reads the group"):
        resolution.resolve({**RUN, "grader": JUDGED, "stages": [{"until": 2, "grader": PAIRWISE}]})
