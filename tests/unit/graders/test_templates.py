"""Templates are filled in one pass."""

import pytest

from hone.graders.contract import InvalidSpec, NoAnswer
from hone.graders.templates import rendered, variables

ITEM = {"x": "1", "deep": {"list": [{"y": "two"}], "number": 3, "none": None}, "answer": "{{ item.x }}"}


@pytest.mark.parametrize(("template", "text"), [
    ("plain", "plain"),
    ("{{ item.x }}{{item.x}}", "11"),
    ("{{ item.deep.list.0.y }}", "two"),
    ("{{ item.deep.number }} {{ item.deep.list }}", '3 [{"y": "two"}]'),
    ("<{{ sample.output_text }}>", '<{"a": [5]} {{ item.x }}>'),
    ("{{ item.answer }}", "{{ item.x }}"),
    ("{ item.x } {0} %s", "{ item.x } {0} %s"),
])
def test_variables_are_replaced_and_what_came_in_stays_literal(template: str, text: str) -> None:
    assert rendered(template, ITEM, '{"a": [5]} {{ item.x }}') == text


def test_a_template_of_a_million_braces_takes_no_time_worth_mentioning() -> None:
    assert rendered("{{" * 500_000, ITEM, "") == "{{" * 500_000


def test_a_template_that_repeats_a_large_field_makes_no_giant_text() -> None:
    with pytest.raises(InvalidSpec, match="more than 4194304 characters"):
        rendered("{{item.a}}" * 1000, {"a": "x" * 2**20}, "")
    with pytest.raises(InvalidSpec, match="more than 4194304 characters"):
        rendered("{{item.a}}" * 1000, {"a": ["x" * 2**20]}, "")


def test_a_template_has_a_longest_length() -> None:
    assert variables("{{item.a}}" * 2000) == ["item.a"] * 2000
    with pytest.raises(ValueError, match="at most 20000 characters, not 20010"):
        variables("{{item.a}}" * 2001)


def test_json_outputs_have_fields() -> None:
    assert rendered("{{ sample.output_json.a.0 }}/{{ sample.output_json }}", {}, '{"a": [5]}') == '5/{"a": [5]}'


@pytest.mark.parametrize("template", [
    "{{ item.z }}", "{{ item.deep.list.1 }}", "{{ item.deep.none }}", "{{ item.x.y }}",
])
def test_a_field_the_row_lacks_is_our_fault(template: str) -> None:
    with pytest.raises(InvalidSpec, match="invalid_variable_error"):
        rendered(template, ITEM, "")


def test_an_output_that_is_no_json_is_the_policys() -> None:
    with pytest.raises(NoAnswer, match="sample_parse_error"):
        rendered("{{ sample.output_json.a }}", {}, "a")
