"""What exploration cost and what its map was worth, from an episode's notes."""

import json
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged_together
from hone.graders.sample import Conversation, Sample, Spoken
from hone.graders.specs import spec

OUTCOME = {"explored": 4, "executed": 5, "invalid": 1, "spent": 9, "turns": 9}


def graded(*notes: dict[str, Any], item: dict[str, Any] | None = None) -> Result:
    calls = [Spoken(number=str(place), text="42", notes=one) for place, one in enumerate(notes)]
    [result] = judged_together(spec(json.dumps({"type": "map_use"})), [Sample(
        {"verified": 1.0} if item is None else item, "42", conversation=Conversation(calls=calls, steps=[]))])
    return result


@pytest.mark.parametrize(("turns", "charged"), [(9, 1.0), (8, 0.0)])
def test_steps_maps_and_the_charged_score_are_components(turns: int, charged: float) -> None:
    result = graded({"stop": "converged"}, {"map": {"precision": 0.75}}, {"outcome": {**OUTCOME, "turns": turns}})
    assert (result.score, result.components) == (1.0, {
        "charged": charged, "explored": 4, "executed": 5, "invalid": 1, "precision": 0.75, "converged": 1})


def test_without_a_map_there_is_no_precision_and_no_end_of_exploration() -> None:
    assert graded({}, {"outcome": OUTCOME}).components.keys() == {"charged", "explored", "executed", "invalid"}
    assert graded({"stop": "budget"}, {"map": {"precision": None}}).components == {"converged": 0.0}
    assert graded({}).components == {}


def test_the_score_is_that_of_the_grader_inside() -> None:
    assert graded({}, item={"verified": 0.25}).score == 0.25
    assert graded({}, item={}).status is Status.INVALID_SPEC
    known = spec(json.dumps({"type": "map_use"}))
    assert known.components >= {"charged", "precision"}
    assert known.bounds == (0, 1)
