"""JSON that readers understand differently is refused, in words."""

import json

import pytest

from hone.spec import strict_json
from hone.spec.strict_json import Ambiguous


@pytest.mark.parametrize(("text", "found"), [
    ('{"a": 1, "a": 1}', "the key 'a' twice"),
    ('[{"b": {"c": 1, "d": 2, "c": 3}}]', "the key 'c' twice"),
    ('{"\\u0061": 1, "a": 2}', "the key 'a' twice"),
    ('{"\\ud800": 1, "\\ud800": 2}', r"the key '\ud800' twice"),
    ('{"lr": NaN}', "NaN"), ("[-Infinity]", "-Infinity"),
    (f"[{'9' * 5000}]", "a number of 5000 digits"),
    ("[" * 100_000, "values nested too deep to be read"),
])
def test_ambiguous_texts(text: str, found: str) -> None:
    with pytest.raises(Ambiguous) as refused:
        strict_json.read(text)
    assert refused.value.found == found
    assert refused.value.expected


@pytest.mark.parametrize("text", ["", "{", "nul", '{"a" 1}', "\ufeff{}"])
def test_what_is_no_json_is_not_called_ambiguous(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        strict_json.read(text)


@pytest.mark.parametrize("text", ['{"a": 1, "b": [1.5, -2e3, null, true, "x"], "c": {"a": 1}}', "3", '{"": 0}'])
def test_other_texts_are_read_as_always(text: str) -> None:
    assert strict_json.read(text) == json.loads(text)


@pytest.mark.parametrize(("value", "read"), [
    (3, 3.0), (-0.5, -0.5), (10**400, float("inf")), (-10**400, float("-inf")), (True, None), ("1", None),
    (None, None)])
def test_a_number_of_any_size_is_one(value: object, read: float | None) -> None:
    assert strict_json.number(value) == read
