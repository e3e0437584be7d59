"""How skills were called, from an episode's calls: selskill.md, metrics and edge cases."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Conversation, Sample, Spoken, Taken
from hone.graders.specs import spec

COMPLETED, MISSED, INVALID = "completed", "unmet_precondition", "invalid_call"
OWN = {"type": "environment"}


def graded(statuses: dict[str, str | None], item: dict[str, Any] | None = None, **inside: Any) -> Result:
    """Grade an episode whose calls, by their numbers, call a skill with a status or act."""
    calls = [Spoken(number=number, text="42", notes={} if status is None else {"skill": "heat", "status": status})
             for number, status in statuses.items()]
    steps = [Taken(call=call.number, action="go", said=[]) for call in calls if not call.notes]
    grader = spec(json.dumps({"type": "skill_use", **inside}))
    [result] = judged_together(grader, [Sample(
        {"verified": 0.5} if item is None else item, "42", conversation=Conversation(calls=calls, steps=steps))])
    return result


@pytest.mark.parametrize(("statuses", "precision"), [
    ([COMPLETED], 1.0), ([MISSED], 0.0), ([COMPLETED, MISSED, COMPLETED], 2 / 3),
    ([COMPLETED, MISSED, INVALID, INVALID], 0.25), ([None, COMPLETED, None], 1.0)])
def test_precision_is_of_attempted_calls(statuses: list[str | None], precision: float) -> None:
    result = graded({str(place): status for place, status in enumerate(statuses)})
    acted = statuses.count(None)
    assert (result.score, result.components) == (0.5, {
        "calls": len(statuses) - acted, "steps": acted, "execution_precision": precision})


def test_an_episode_without_a_call_has_no_precision() -> None:
    assert graded({"0": None}).components == {"calls": 0.0, "steps": 1.0}


def test_what_was_played_again_from_a_turn_does_not_count() -> None:
    result = graded({"0": COMPLETED, "1": None, "2.0.0": MISSED, "2.0.1": None, "3.0.0": COMPLETED})
    assert result.components == {"calls": 1.0, "steps": 1.0, "execution_precision": 1.0}
    each = {"type": "each_call", "grader": {"type": "exact"}}
    inner = graded({"0": COMPLETED, "2.0.0": None}, {"answer": "42"}, grader=each)
    assert (inner.score, set(inner.turns), inner.components["answer"]) == (1.0, {"0"}, 1.0)


def test_numbers_in_the_item_are_components_where_the_grader_names_them() -> None:
    result = graded({"0": COMPLETED}, {"verified": 1.0, "harmful": 2}, facts=["harmful"])
    assert result.components["harmful"] == 2.0
    assert graded({"0": COMPLETED}, {"verified": 1.0, "harmful": True}, facts=["harmful"]).status is Status.INVALID_SPEC
    assert graded({"0": COMPLETED}, facts=["other"]).status is Status.INVALID_SPEC
    assert "harmful" in spec(json.dumps({"type": "skill_use", "facts": ["harmful"]})).components


def test_a_sample_without_a_score_stays_without_one() -> None:
    assert graded({"0": COMPLETED}, {}).status is Status.INVALID_SPEC


def test_it_gives_what_the_grader_inside_gives() -> None:
    inside = {"type": "weighted", "parts": {"own": {"grader": OWN}, "sorted": {"grader": {"type": "exact"}}}}
    known = spec(json.dumps({"type": "skill_use", "grader": inside}))
    assert known.components == {"own", "sorted", "calls", "steps", "execution_precision"}
    assert (known.bounds, known.turn_scores) == ((0.0, 1.0), frozenset[str]())
