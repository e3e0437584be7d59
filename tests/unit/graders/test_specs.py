"""A wrong grader is refused with every wrong field, the value found and the value expected."""

import hashlib
from typing import Any

import pytest

from hone.graders.catalogue import GRADERS
from hone.graders.specs import checked, spec
from hone.spec.problems import Invalid


def test_the_hash_is_that_of_the_canonical_json() -> None:
    text = '{"reference":"{{ item.a }}","type":"exact"}'
    assert spec('{"type": "exact",  "reference": "{{ item.a }}"}').hash == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("text", "problems"), [
    ("{", ['grader: found "{", expected a JSON object']),
    ("[]", ["grader: found [], expected a JSON object"]),
    ("{}", ["type: found nothing, expected one of agent_judge, character_share, code, concise, deviation"]),
    ('{"type": "stored", "name": "mine"}', ["expected the grader's own JSON: only a gateway knows stored names"]),
    ('{"type": "exakt"}', ['type: found "exakt", expected one of agent_judge, character_share, code, concise']),
    ('{"type": ["exact"]}', ['type: found ["exact"], expected one of agent_judge, character_share, code, concise']),
    ('{"type": "exact", "refrence": "5"}',
     ['refrence: found unknown key with value "5", expected one of ignore_case, name, reference, strip, type '
      "(did you mean reference?)"]),
    ('{"type": "exact", "strip": 1}', ["strip: found 1, expected a valid boolean"]),
    ('{"type": "exact", "reference": "{{ answer }}"}', ["expected variables under item, sample.output_text"]),
    ('{"type": "exact", "reference": "{{ sample.text }}"}', ["expected variables under item, sample.output_text"]),
    ('{"type": "exact", "reference": "{{ sample.output_text.x }}"}', ["expected variables under item"]),
    ('{"type": "exact", "reference": "{{ item }}"}', ["expected variables under item"]),
    ('{"type": "numeric", "abs_tolerance": -1}', ["abs_tolerance: found -1, expected greater than or equal to 0"]),
    ('{"type": "math", "boxed": "maybe"}', ["boxed: found \"maybe\", expected 'required' or 'optional'"]),
    ('{"type": "string_check", "operation": "is"}',
     ["operation: found \"is\", expected 'eq', 'ne', 'like' or 'ilike'", "input: found nothing",
      "reference: found nothing"]),
])
def test_problems(text: str, problems: list[str]) -> None:
    with pytest.raises(Invalid) as wrong:
        spec(text)
    found = [str(problem) for problem in wrong.value.problems]
    assert len(found) == len(problems)
    for one, part in zip(found, problems, strict=True):
        assert part in one


@pytest.mark.parametrize(("given", "field"), [
    ({"type": "exact", "strip": 1}, "task.params.grader.strip"), ({"type": "x"}, "task.params.grader.type"),
])
def test_a_problem_says_where_the_grader_stands(given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as wrong:
        checked(given, "task.params.grader")
    assert [problem.field for problem in wrong.value.problems] == [field]


@pytest.mark.parametrize("given", [
    {"type": "verify_server", "server": "s", "components": ["format", ""]},
    {"type": "state", "expected": {"a" * 201: "b"}},
    {"type": "tables", "at": "d", "changes": "{{ item.c }}", "columns": {"": "exempt"}},
    {"type": "weighted", "parts": {"a": {"grader": {"type": "state", "expected": {"a" * 199: "b"}}}}}])
def test_a_component_without_a_name_that_can_be_stored_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="expected names of components of 1 to 200 characters"):
        checked(given)


def test_every_grader_documents_its_parameters() -> None:
    for kind, grader in GRADERS.items():
        schema = grader.params.model_json_schema()
        assert schema["properties"]["type"]["const"] == kind
        assert schema["additionalProperties"] is False
