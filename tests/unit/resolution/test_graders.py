"""A grader fits its tasks and its harness, or is refused: of states that never change, of kinds that nobody calls."""

from typing import Any

import pytest

from hone.resolution import resolve
from hone.spec.problems import Invalid
from tests.support.resolution.base import BASE

EACH = {"type": "each_call", "grader": {"type": "exact"}}
STATE = {"type": "state", "expected": {"answer": "{{ item.answer }}"}}
NO_WORLD = "asks a single question and has no state that an action changes"


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


@pytest.mark.parametrize(("spec", "problem"), [
    ({"grader": STATE},
     f'grader.type: found "state", expected a grader of answers, because environment sort_digits {NO_WORLD}'),
    ({"grader": {"type": "weighted", "parts": {"all": {"grader": {"type": "slowed", "grader": STATE}}}}},
     'grader.parts.all.grader.grader.type: found "state", expected a grader of answers'),
    ({"task": {"dataset": "rows", "params": {"grader": STATE}}},
     f'task.params.grader.type: found "state", expected a grader of answers, because environment dataset {NO_WORLD}'),
    ({"task": {"environment": "sqlite"}, "eval": {"source": {"environment": "even_digits"}}, "grader": STATE},
     'grader.type: found "state", expected a grader of answers, because environment even_digits'),
    ({"task": {"environment": "sqlite"}, "eval": {"sources": [
        {"name": "other", "environment": "even_digits", "grader": {"type": "environment"}}]}},
     'eval.sources[0].grader.type: found "environment", expected a grader of answers, because environment even_digits'),
    ({"task": {"environment": "sqlite"}, "grader": {"type": "state", "unchanged": ["database", "rows"]}},
     'grader.unchanged[1]: found "rows", expected a path of the first state of environment sqlite, which has answer, '),
])
def test_states_that_never_change_or_are_not_there_are_refused(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        resolve({**BASE, **spec})
    assert any(str(one).startswith(problem) for one in refused.value.problems), refused.value.problems


def test_states_that_change_are_graded() -> None:
    grader = {**STATE, "unchanged": ["database"]}
    assert resolve({**BASE, "task": {"environment": "sqlite"}, "grader": grader}).grader == grader
