"""A grader of calls fits its harness, or is refused: of kinds that are never called no sample has an answer."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.spec.problems import Invalid

BASE = {"name": "sort", "model": {"base": "toy"}, "steps": 3, "task": {"environment": "sort_digits"}}
EACH = {"type": "each_call", "grader": {"type": "exact"}}


@pytest.mark.parametrize(("spec", "problem"), [
    ({"grader": {**EACH, "kinds": ["answer", "draft"]}},
     'grader.kinds: found "draft", expected kinds of calls that harness chat makes: answer'),
    ({"harness": {"name": "heavy"}, "grader": {"type": "weighted", "parts": {"all": {"grader": {
        **EACH, "decide": ["answer"]}}}}},
     'grader.parts.all.grader.decide: found "answer", expected kinds of calls that harness heavy makes: attempt, '
     "deliberate"),
    ({"grader": {**EACH, "kinds": ["answer"], "decide": ["act"]}},
     "grader: found {"),  # the field is the whole: two of its keys do not fit together
])
def test_kinds_that_are_never_called_are_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **spec})
    assert any(str(one).startswith(problem) for one in refused.value.problems), refused.value.problems


@pytest.mark.parametrize("spec", [
    {"grader": EACH}, {"grader": {**EACH, "kinds": ["answer"]}},
    {"harness": {"name": "heavy"}, "grader": {**EACH, "kinds": ["attempt", "deliberate"], "decide": ["deliberate"]}},
])
def test_kinds_that_are_called_are_graded(spec: dict[str, Any]) -> None:
    assert resolve({**BASE, **spec}).grader == spec["grader"]
