"""A wrong grader is refused with every field's name, what was found and what was expected."""

import hashlib

import pytest

from services.reward.graders import GRADERS
from services.reward.specs import WrongSpec, spec


def test_the_hash_is_that_of_the_canonical_json() -> None:
    text = '{"reference":"{{ item.a }}","type":"exact"}'
    assert spec('{"type": "exact",  "reference": "{{ item.a }}"}').hash == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(("text", "problems"), [
    ("{", ["grader: found '{', expected a JSON object"]),
    ("[]", ["grader: found '[]', expected a JSON object"]),
    ("{}", ["type: found None, expected one of exact, numeric, math, reasoning_gym, string_check, "
           "character_share"]),
    ('{"type": "exakt"}', ["type: found 'exakt', expected one of exact"]),
    ('{"type": ["exact"]}', ["type: found ['exact'], expected one of exact"]),
    ('{"type": "exact", "refrence": "5"}', ["refrence: found '5', expected one of the keys type, name, reference"]),
    ('{"type": "exact", "strip": 1}', ["strip: found 1, expected a valid boolean"]),
    ('{"type": "exact", "reference": "{{ answer }}"}', ["expected variables under item, sample.output_text"]),
    ('{"type": "exact", "reference": "{{ sample.text }}"}', ["expected variables under item, sample.output_text"]),
    ('{"type": "exact", "reference": "{{ sample.output_text.x }}"}', ["expected variables under item"]),
    ('{"type": "exact", "reference": "{{ item }}"}', ["expected variables under item"]),
    ('{"type": "numeric", "abs_tolerance": -1}', ["abs_tolerance: found -1, expected greater than or equal to 0"]),
    ('{"type": "math", "boxed": "maybe"}', ["boxed: found 'maybe', expected 'required' or 'optional'"]),
    ('{"type": "string_check", "operation": "is"}',
     ["operation: found 'is', expected 'eq', 'ne', 'like' or 'ilike'", "input: found None", "reference: found None"]),
])
def test_problems(text: str, problems: list[str]) -> None:
    with pytest.raises(WrongSpec) as wrong:
        spec(text)
    found = [str(problem) for problem in wrong.value.problems]
    assert len(found) == len(problems)
    for one, part in zip(found, problems, strict=True):
        assert part in one


def test_every_grader_documents_its_parameters() -> None:
    for kind, grader in GRADERS.items():
        schema = grader.params.model_json_schema()
        assert schema["properties"]["type"]["const"] == kind
        assert schema["additionalProperties"] is False
