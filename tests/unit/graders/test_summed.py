"""The summed reward of a session and its turns: duca.md (a) 2, bounds, and what has no score."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Conversation, Sample, Spoken, Taken
from hone.graders.specs import spec


def graded(verified: Any, turns: list[float | None], given: float = 0.0, **inside: Any) -> Result:
    """Grade a session whose turns were paid so much; the harness gave the first one `given`."""
    calls = [Spoken(number=str(place), text="a", rules={} if place else {"format": given})
             for place in range(len(turns))]
    steps = [Taken(call=str(place), action="a", said=[], reward=paid) for place, paid in enumerate(turns)]
    grader = spec(json.dumps({"type": "summed", **inside}))
    item = {"verified": verified, "components": {"conversion": 1}}
    [result] = judged_together(grader, [Sample(item, "a", conversation=Conversation(calls=calls, steps=steps))])
    return result


@pytest.mark.parametrize(("verified", "turns", "summed"), [
    (1, [0, -1, 0], 9), (0, [0, 0], 0), (1, [-1, -1, 0], 8), (0, [0, -1], -1), (1, [None, -1], 9)])
def test_a_session_counts_its_weight_and_each_turn_what_it_was_paid(
    verified: float, turns: list[float | None], summed: float
) -> None:
    result = graded(verified, turns, weight=10.0)
    paid = sum(each or 0 for each in turns)
    assert (result.score, result.components) == (summed, {"conversion": 1, "session": verified, "turns": paid})


def test_what_the_harness_gave_counts_too_and_the_sum_is_cut_off() -> None:
    assert graded(1.0, [-1.0, -1.0], given=-0.5).score == -1.5
    assert graded(1.0, [-1.0, -1.0], given=-0.5, most=2.0).score == -1.0
    assert spec(json.dumps({"type": "summed", "weight": 10.0, "most": 2.0})).bounds == (-2.0, 12.0)


def test_a_session_without_a_score_stays_without_one() -> None:
    assert graded(None, [0.0]).status is Status.INVALID_SPEC
    grader = spec(json.dumps({"type": "summed"}))
    assert judged_together(grader, [Sample({"verified": 1.0}, "a")])[0].status is Status.INVALID_SPEC
