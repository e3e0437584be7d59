"""Answers in JSON, YAML, TOML, XML and CSV: read, held against a schema, and compared field by field."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hone.graders.contract import Result, Status
from hone.graders.fields import Tolerance, compared, share
from hone.graders.formats import Unparsed, fenced, parsed
from hone.graders.judgement import judged
from hone.graders.right_answers import Ending, Standing
from hone.graders.right_answers import checked as reference
from hone.graders.specs import checked
from hone.spec.problems import Invalid

SCHEMA = {"type": "object", "required": ["city"], "properties": {
    "city": {"type": "string"}, "at": {"type": "object", "properties": {"lat": {"type": "number"}}},
    "free": {"type": "object", "properties": {}, "additionalProperties": True}}}
WANTED = {"city": "Rome", "at": {"lat": 41.9}}


def graded(output: str, row: Any = WANTED, **params: Any) -> Result:
    return judged(checked({"type": "structured", "reference": "{{ item.answer }}", **params}), {"answer": row}, output)


@pytest.mark.parametrize(("form", "text"), [
    ("json", '{"city": "Rome", "at": {"lat": 41.9}}'),
    ("yaml", "city: Rome\nat:\n  lat: 41.9\n"),
    ("toml", 'city = "Rome"\n[at]\nlat = 41.9\n'),
])
def test_an_answer_in_each_format_bare_or_in_a_code_block(form: str, text: str) -> None:
    whole = {"format": form, "reference_format": "json", "json_schema": SCHEMA}
    for output in (text, f"Here:\n```{form}\n{text}\n```\nDone.", f"<think>```</think>\n```\n{text}\n```"):
        result = graded(output, **whole)
        assert (result.score, dict(result.components)) == (1.0, {"fields": 1.0, "parse": 1.0, "schema": 1.0})
    assert graded(f"It is {text}", **whole).score == 0
    assert graded(text, **whole, extract="fence").reasons == (f"parse: found no code block of {form}",)
    assert graded(f"```{form}\n{text}\n```", **whole, extract="bare").score == 0.0


@pytest.mark.parametrize(("form", "text", "value"), [
    ("xml", '<r a="1"><b>x</b><b>2</b><c/>t</r>', {"r": {"@a": 1, "b": ["x", 2], "c": "", "#text": "t"}}),
    ("xml", "<?xml version='1.0'?>\n<zip>00123</zip>", {"zip": "00123"}),
    ("csv", 'a,b\r\n1,x\r\n true ,"q,"""\n', [{"a": 1, "b": "x"}, {"a": True, "b": 'q,"'}]),
    ("yaml", "a: 2020-01-02\n1: yes", {"a": "2020-01-02", "1": True}),
    ("toml", "a = 2020-01-02T03:04:05", {"a": "2020-01-02T03:04:05"}),
])
def test_values(form: Any, text: str, value: Any) -> None:
    assert parsed(text, form) == value


@pytest.mark.parametrize(("form", "text", "problem"), [
    ("json", '{"a": 1, "a": 2}', "twice"), ("json", "[NaN]", "NaN"), ("json", "[" * 90_000, "too deep"),
    ("json", "[" * 70 + "]" * 70, "more than 64 levels"), ("json", '{"a": 1', "delimiter"),
    ("yaml", "a: 1\na: 2", "twice"), ("yaml", "a: &a [x]\nb: [*a, *a]", "aliases"), ("yaml", "a: .nan", "nan"),
    ("yaml", "!!python/object/apply:os.getcwd []", "constructor"), ("yaml", "a: 1\n---\nb: 2", "single document"),
    ("yaml", "a: !!binary aGk=", "bytes"), ("yaml", "? [a]\n: 1", "key"), ("yaml", "[" * 90_000, "depth"),
    ("toml", "a = 1\na = 2", "overwrite"), ("toml", "a." * 90_000 + "b = 1", "64 parts"), ("toml", "a = inf", "inf"),
    ("xml", '<!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>', "document type"), ("xml", "<r>", "no element"),
    ("xml", "<a>" * 70 + "</a>" * 70, "64 levels"),
    ("csv", "a,b\n1", "row 2 has 1 cells instead of 2"), ("csv", "a,a\n1,2", "twice"), ("csv", 'a\n"x', "end of data"),
    ("csv", "a\n1e999", "inf"), ("csv", "", "no row"),
])
def test_what_cannot_be_read_or_has_two_meanings_is_refused(form: Any, text: str, problem: str) -> None:
    with pytest.raises(Unparsed, match=problem):
        parsed(text, form)


def test_the_last_code_block_of_the_format_counts() -> None:
    assert fenced("```json\n1\n```\n```json\n2\n```\n```python\n3\n```", "json") == "2\n"
    assert fenced("~~~yml\na: |\n  ```\n~~~", "yaml") == "a: |\n  ```\n"
    assert fenced("```json\n[1, 2", "json") == "[1, 2"
    assert fenced("```a\n" * 40_000, "json") is None


@pytest.mark.parametrize(("value", "reason"), [
    ({"city": "Rome"}, ""), ({"city": "Rome", "free": {"x": 1}}, ""), ({}, "'city' is a required property"),
    ({"city": 5}, "$.city: 5 is not of type 'string'"), ({"city": "Rome", "zip": 1}, "('zip' was unexpected)"),
    ({"city": "Rome", "at": {"lat": 1, "lon": 2}}, "$.at: "),
])
def test_a_schema_closes_its_objects_unless_it_says_otherwise(value: Any, reason: str) -> None:
    result = judged(checked({"type": "structured", "json_schema": SCHEMA}), {}, json.dumps(value))
    assert (result.score, dict(result.components)) == (float(not reason), {"parse": 1.0, "schema": float(not reason)})
    assert reason in "".join(result.reasons)


def test_objects_that_are_put_together_are_closed_as_one() -> None:
    schema = {"$defs": {"named": {"properties": {"name": {"properties": {"first": {}}}}}}, "allOf": [
        {"$ref": "#/$defs/named"}, {"properties": {"age": {"type": "integer"}}}], "items": {"$ref": "#"}}
    scores = [judged(checked({"type": "structured", "json_schema": schema}), {}, json.dumps(value)).score for value in (
        {"name": {"first": "A"}, "age": 3}, [{"age": 3}], {"age": 3, "size": 1}, {"name": {"last": "B"}}, [{"b": 3}])]
    assert scores == [1, 1, 0, 0, 0]


@pytest.mark.parametrize(("schema", "problem"), [
    ({"type": "text"}, "'text' is not valid"), ({"$ref": "https://example.com/s"}, "the schema's own parts"),
    ({"$schema": "http://json-schema.org/draft-07/schema#"}, "draft 2020-12"), ({"pattern": "("}, "is not a 'regex'"),
])
def test_what_is_no_schema_is_refused(schema: Any, problem: str) -> None:
    with pytest.raises(Invalid) as refused:
        checked({"type": "structured", "json_schema": schema})
    assert problem in str(refused.value)
    result = judged(checked({"type": "structured", "json_schema": "{{ item.schema }}"}), {"schema": schema}, "{}")
    assert result.status is Status.INVALID_SPEC


@pytest.mark.parametrize("schema", [{"$ref": "#/$defs/none"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_that_leads_nowhere_masks_the_sample(schema: Any) -> None:
    assert judged(checked({"type": "structured", "json_schema": schema}), {}, "{}").status is Status.INVALID_SPEC


@pytest.mark.parametrize(("value", "all_right", "part"), [
    ({"a": 1.05, "b": ["x", {"c": True}]}, 1, 1), ({"a": 1.2, "b": ["x", {"c": True}]}, 0, 2 / 3),
    ({"a": 1, "b": ["x"]}, 0, 2 / 3), ({"a": 1, "b": ["x", {"c": 1}]}, 0, 2 / 3), ({"a": True}, 0, 0),
    ({"a": 1, "b": ["x", {"c": True}], "more": [1, 2]}, 0, 3 / 5), ({"a": 1, "b": ["x", {"c": True}], "note": 5}, 1, 1),
    ({"b": ["x", {"c": True, "note": ""}], "a": 1}, 1, 1), ([], 0, 0), ({"a": 10 ** 400}, 0, 0),
])
def test_fields(value: Any, all_right: float, part: float) -> None:
    wanted = {"a": 1, "b": ["x", {"c": True}]}
    by = {"abs_tolerance": 0.1, "optional": ["note", "b.*.note"]}
    for score, expected in (("all", all_right), ("fraction", part)):
        assert graded(json.dumps(value), wanted, compare=by, score=score).score == pytest.approx(expected)


def test_lists_without_an_order_and_texts_without_case() -> None:
    wanted, shuffled = [{"n": 1}, {"n": 2}, {"n": 2}], [{"n": 2}, {"n": 1, "note": 0}, {"n": 2.05}]
    by = Tolerance(ordered=False, abs_tolerance=0.1, optional=["*.note"])
    assert share([*compared(shuffled, wanted, by)]) == 1
    assert share([*compared(shuffled[:2], wanted, by)]) == pytest.approx(2 / 3)
    assert share([*compared([*shuffled, 7], wanted, by)]) == pytest.approx(3 / 4)
    assert share([*compared({"a": "ß", "b": []}, {"a": "SS", "b": []}, Tolerance(ignore_case=True))]) == 1


def test_a_reference_that_is_not_in_its_format_masks_the_sample() -> None:
    assert graded("{}", "no").status is Status.INVALID_SPEC


@pytest.mark.parametrize(("params", "row", "standing"), [
    ({}, WANTED, Standing.RIGHT), ({"extract": "fence"}, WANTED, Standing.RIGHT),
    ({"json_schema": SCHEMA}, {"town": "Rome"}, Standing.WRONG), ({}, "no", Standing.WRONG),
    ({"format": "xml", "reference_format": "json"}, WANTED, Standing.UNKNOWN),
    ({"format": "csv"}, "a,b\n1,2", Standing.RIGHT), ({"reference": None}, WANTED, Standing.UNKNOWN),
])
def test_a_rows_reference_is_graded(params: dict[str, Any], row: Any, standing: Standing) -> None:
    spec = checked({"type": "structured", "reference": "{{ item.answer }}", **params})
    assert reference(spec, {"answer": row}, Ending()).standing is standing


def test_a_fraction_needs_a_reference() -> None:
    with pytest.raises(Invalid, match="a reference, because score fraction"):
        checked({"type": "structured", "score": "fraction"})


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
                      lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3),
                      max_leaves=8)


@settings(max_examples=150, deadline=None, database=None)
@given(VALUES, VALUES, st.booleans())
def test_a_value_equals_itself_and_the_share_is_one_of_equal_values_alone(one: Any, other: Any, ordered: bool) -> None:
    by = Tolerance(ordered=ordered)
    assert share([*compared(one, one, by)]) == 1
    found = [*compared(one, other, by)]
    assert 0 <= share(found) <= 1
    assert (share(found) == 1) == (not any(field.wrong for field in found))
