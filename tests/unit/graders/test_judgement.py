"""Rules that hold for every grader."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from hone.graders.contract import Grader, Result, Status
from hone.graders.exact import ExactParams
from hone.graders.judgement import judged
from hone.graders.sample import Item
from hone.graders.specs import Spec, spec
from hone.text.reasoning import MARKS

EXACT = spec('{"type": "exact"}')


def scoring(score: float, **components: float) -> Spec:
    def grade(item: Item, output_text: str, params: ExactParams) -> Result:  # noqa: ARG001
        return Result(Status.OK, score, components)

    return Spec(Grader(ExactParams, grade), EXACT.params, EXACT.json)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.001, 1.001])
def test_a_score_that_is_no_score_is_never_a_reward(score: float) -> None:
    for grader in (scoring(score), scoring(0.5, part=score)):
        result = judged(grader, {}, "x")
        assert (result.status, result.score, result.components) == (Status.INVALID_SPEC, None, {})


@pytest.mark.parametrize("name", ["", "x" * 201])
def test_a_score_beside_the_whole_one_has_a_name_that_can_be_stored(name: str) -> None:
    result = judged(scoring(0.5, **{name: 0.5}), {}, "x")
    assert (result.status, result.score, result.components) == (Status.INVALID_SPEC, None, {})
    assert judged(scoring(0.5, **{"x" * 200: 0.5}), {}, "x").score == 0.5


def test_half_a_surrogate_pair_is_a_text_like_others() -> None:
    assert judged(EXACT, {"answer": "\ud800"}, "\ud800").score == 1.0


def test_scores_inside_the_range_pass() -> None:
    assert judged(scoring(1.0, part=0.0), {}, "x").score == 1.0


@pytest.mark.parametrize("output", ["", " \n\t", "x" * 200_001, "ü" * 100_001])
def test_empty_and_huge_outputs_hold_no_answer(output: str) -> None:
    result = judged(EXACT, {"answer": output}, output)
    assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)


def test_the_largest_output_is_graded_and_shown_in_part() -> None:
    result = judged(EXACT, {"answer": "x" * 200_000}, "x" * 200_000)
    assert (result.score, result.extracted) == (1.0, "x" * 1000)


def test_a_grader_that_breaks_is_our_fault_for_this_sample_alone() -> None:
    def broken(item: Item, output_text: str, params: ExactParams) -> Result:  # noqa: ARG001
        raise ZeroDivisionError("no")

    result = judged(Spec(Grader(ExactParams, broken), EXACT.params, EXACT.json), {}, "x")
    assert (result.status, result.score, result.reasons) == (Status.INFRA_ERROR, None, ("ZeroDivisionError: no",))


def test_a_row_without_the_field_is_our_fault() -> None:
    result = judged(EXACT, {}, "x")
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)
    assert result.reasons == ("invalid_variable_error: item.answer is not in the task row",)


def test_fifty_parallel_grades_are_identical() -> None:
    grader = spec('{"type": "numeric"}')
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: judged(grader, {"answer": "72"}, "70 or 72"), range(50)))
    assert len({repr(replace(result, cost_ms=0.0)) for result in results}) == 1


READERS: list[tuple[dict[str, Any], str]] = [
    ({"type": "exact"}, "42"),
    ({"type": "numeric"}, "42"),
    ({"type": "math"}, r"\boxed{42}"),
    ({"type": "string_check", "operation": "like", "input": "{{ sample.output_text }}", "reference": "42"}, "so 42"),
    ({"type": "character_share", "wanted": "42", "among": "0123456789"}, "42"),
    ({"type": "verdict"}, r"\boxed{Yes}"),
    ({"type": "weighted", "parts": {"right": {"grader": {"type": "exact"}}}}, "42"),
    ({"type": "slowed", "grader": {"type": "exact"}}, "42"),
]
"""Graders that read the output, each with an output that scores."""
ROW = {"answer": "42", "label": "Yes", "rho": 0.5}


@pytest.mark.parametrize(("grader", "right"), READERS, ids=[grader["type"] for grader, _ in READERS])
def test_what_the_model_thought_is_not_what_it_said(grader: dict[str, Any], right: str) -> None:
    read = spec(json.dumps(grader))
    best = judged(read, ROW, right).score
    assert best
    for opening, closing in MARKS.items():
        assert judged(read, ROW, f"{opening}no, 7{closing}\n{right}").score == best
        assert judged(read, ROW, f"no, 7{closing}\n{right}").score == best
        for unsaid in (f"{opening}\nwe try {right} maybe", f"{opening}{right}{closing}\n", f"7 {opening}{right}"):
            result = judged(read, ROW, unsaid)
            assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)


def test_a_check_of_the_format_may_read_the_reasoning() -> None:
    grader = {"type": "string_check", "operation": "like", "input": "{{ sample.output_text }}", "reference": "</think>",
              "reasoning": "kept"}
    assert judged(spec(json.dumps(grader)), {}, "<think>a</think>b").score == 1.0
    assert judged(spec(json.dumps(grader)), {}, "<think>a").score == 0.0
