"""Skill1's rewards from an episode's calls: skill1.md (a) 1 and 3, and edge cases."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Conversation, Sample, Spoken, Taken
from hone.graders.specs import spec

UTILITIES = [0.5, 0.8, 0.2]


def graded(
    verified: float | None = 1.0, utilities: list[float] | None = UTILITIES, order: list[int] | None = None,
    readable: bool | None = True, valid: tuple[bool, ...] = (True, True), **params: Any,
) -> Result:
    found = {} if utilities is None else {"retrieved": [{"utility": one} for one in utilities]}
    plays = [str(place) for place in range(2, 2 + len(valid))]
    calls = [Spoken(number="0", kind="query", text="?", notes=found),
             Spoken(number="1", kind="rerank", text="2", notes={"order": order}),
             *(Spoken(number=number, kind="play", text="go") for number in plays)]
    if readable is not None:
        calls.append(Spoken(number="9.0.0", kind="distill", text="{}", notes={"distilled": readable}))
    steps = [Taken(call=number, action="go", said=[], valid=one) for number, one in zip(plays, valid, strict=True)]
    [result] = judged_together(spec(json.dumps({"type": "skill_credit", **params})), [Sample(
        {} if verified is None else {"verified": verified}, "go",
        conversation=Conversation(calls=calls, steps=steps))])
    return result


@pytest.mark.parametrize(("order", "rank"), [([1, 0, 2], 1.0), ([0, 1, 2], 0.908906), ([2, 0, 1], 0.753181), (None, 0)])
def test_the_order_is_rewarded_by_the_utilities(order: list[int] | None, rank: float) -> None:
    assert graded(order=order).components["r_rank"] == pytest.approx(rank, abs=1e-6)


@pytest.mark.parametrize(("verified", "utilities", "readable", "distilled"), [
    (1.0, UTILITIES, True, 0.2), (0.0, UTILITIES, True, -0.8), (1.0, [], True, 1.0), (1.0, UTILITIES, False, 0.0),
    (1.0, UTILITIES, None, 0.2)])
def test_a_lesson_is_rewarded_by_what_the_library_promised_less(
        verified: float, utilities: list[float], readable: bool | None, distilled: float) -> None:
    result = graded(verified, utilities, readable=readable)
    assert result.components["r_dist"] == pytest.approx(distilled)
    assert result.score == verified


def test_actions_that_were_not_understood_cost_their_share_of_a_penalty() -> None:
    result = graded(valid=(False, True, True, False), penalty=0.1)
    assert result.score == pytest.approx(0.95)
    assert result.components["r_dist"] == pytest.approx(0.2), "of the outcome itself"
    assert spec('{"type": "skill_credit", "penalty": 0.1}').bounds == (-0.1, 1.0)


def test_other_episodes_and_other_scores_have_none() -> None:
    assert graded(utilities=None).status is graded(verified=None).status is Status.INVALID_SPEC
    large = {"type": "slowed", "grader": {"type": "environment"}}
    assert graded(grader={"type": "weighted", "parts": {"own": {"grader": {"type": "environment"}}}}).components == {
        "own": 1.0, "r_rank": 0.0, "r_dist": pytest.approx(0.2)}
    assert spec(json.dumps({"type": "skill_credit", "grader": large})).components == {"r_rank", "r_dist"}
