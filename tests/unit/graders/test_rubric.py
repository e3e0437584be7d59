"""Rubrics: each criterion has one verdict, or there is none; what the judge says twice must agree."""

import json
from typing import Any

import pytest

from hone.graders.contract import Status
from hone.graders.questions import Question
from hone.graders.specs import checked
from hone.spec.problems import Invalid
from tests.unit.graders.judging import judged_by

CRITERIA = [{"name": "right", "text": "It is right.", "weight": 2.0},
            {"name": "brief", "text": "It is brief.", "weight": 1.0},
            {"name": "clear", "text": "It is clear.", "weight": 1.0, "choices": ["bad", "fair", "good"]}]
RUBRIC = {"type": "rubric", "model": "judge", "task": "{{ item.question }}", "criteria": CRITERIA}


def verdicts(**by_name: str) -> str:
    return json.dumps({"reasons": dict.fromkeys(by_name, "so"), "verdicts": by_name})


async def test_the_score_is_the_weighted_mean() -> None:
    """Weights 2, 1, 1 and values 1, 0, 0.5 give 0.625, the spec's number."""
    [result] = await judged_by(checked(RUBRIC), lambda _: verdicts(right="yes", brief="no", clear="fair"), "because")
    assert (result.status, result.score) == (Status.OK, 0.625)
    assert result.components == {"right": 1.0, "brief": 0.0, "clear": 0.5}
    assert result.tokens == {"judge-1": 24}
    assert len(result.evidence) == 2


async def test_where_two_readings_differ_the_worse_one_counts() -> None:
    """A judge that takes whichever choice comes first accepts nothing."""
    def first(question: Question) -> str:
        assert question.schema is not None
        offered = question.schema["properties"]["verdicts"]["properties"]
        return verdicts(**{name: one["enum"][0] for name, one in offered.items()})

    [result] = await judged_by(checked(RUBRIC), first, "because")
    assert result.score == 0.0
    [once] = await judged_by(checked({**RUBRIC, "agreed": False}), first, "because")
    assert (once.score, len(once.evidence)) == (0.0, 1)


@pytest.mark.parametrize("said", [
    "fine", verdicts(right="yes", brief="no"), verdicts(right="yes", brief="no", clear="great"),
    verdicts(right="yes", brief="no", clear="good", other="yes"), json.dumps({"verdicts": ["yes"]}), "[]",
    verdicts(right="yes", brief="no", clear="good")[:-3]])
async def test_every_criterion_has_one_verdict_or_the_sample_is_masked(said: str) -> None:
    [result] = await judged_by(checked(RUBRIC), lambda _: said, "because")
    assert (result.status, result.score) == (Status.JUDGE_ERROR, None)
    assert "model_grader_parse_error" in result.reasons[0]


@pytest.mark.parametrize("output", ["Solution:", ":", "Thought process:", "a", "<think>ok</think>."])
async def test_no_judge_sees_a_master_key(output: str) -> None:
    def never(_: Question) -> str:
        raise AssertionError("it was asked")

    [result] = await judged_by(checked(RUBRIC), never, output)
    assert (result.status, result.score, result.decided_by) == (Status.OK, 0.0, "opener")


@pytest.mark.parametrize(("field", "change"), [
    ("criteria", {"criteria": []}), ("criteria", {"criteria": [{**CRITERIA[0], "weight": 0.0}]}),
    ("criteria", {"criteria": [CRITERIA[0]] * 2}), ("criteria", {"criteria": [{**CRITERIA[0], "choices": ["a"]}]}),
    ("criteria", {"criteria": [{**CRITERIA[0], "weight": -1.0}]}), ("task", {"task": "{{ other.x }}"})])
def test_a_rubric_that_weighs_nothing_is_refused(field: str, change: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        checked({**RUBRIC, **change})
    assert field in str(refused.value)
