"""Templates are filled in one pass."""

import json
from random import Random

import pytest

from hone.graders.contract import InvalidSpec, NoAnswer
from hone.graders.templates import rendered, variables

ITEM = {"x": "1", "a key": {"b": "c"}, "answer": "{{ item.x }}",
        "deep": {"list": [{"y": "two"}], "number": 3, "none": None}}


@pytest.mark.parametrize(("template", "text"), [
    ("plain", "plain"),
    ("{{ item.x }}{{item.x}}", "11"),
    ("{{ item.deep.list.0.y }}", "two"),
    ("{{ item.deep.number }} {{ item.deep.list }}", '3 [{"y": "two"}]'),
    ("<{{ sample.output_text }}>", '<{"a": [5]} {{ item.x }}>'),
    ("{{ item.answer }}", "{{ item.x }}"),
    ("{ item.x } {0} %s", "{ item.x } {0} %s"),
    ("{{ item.deep.list[0].y }}{{item.deep['list'][ 0 ]}}", 'two{"y": "two"}'),
    ("{{ item['a key'].b }}{{ item[\"deep\"].number }}", "c3"),
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
    assert list(map(str, variables("{{item.a}}" * 2000))) == ["item.a"] * 2000
    with pytest.raises(ValueError, match="at most 20000 characters, not 20010"):
        variables("{{item.a}}" * 2001)


def test_json_outputs_have_fields() -> None:
    assert rendered("{{ sample.output_json.a.0 }}/{{ sample.output_json }}", {}, '{"a": [5]}') == '5/{"a": [5]}'


@pytest.mark.parametrize("template", [
    "{{ item.z }}", "{{ item.deep.list.1 }}", "{{ item.deep.list[1] }}", "{{ item.deep[0] }}",
    "{{ item.x[0] }}", "{{ item.deep.none }}", "{{ item.x.y }}",
])
def test_a_field_the_row_lacks_is_our_fault(template: str) -> None:
    with pytest.raises(InvalidSpec, match="invalid_variable_error"):
        rendered(template, ITEM, "")


def test_an_output_that_is_no_json_is_the_policys() -> None:
    with pytest.raises(NoAnswer, match="sample_parse_error"):
        rendered("{{ sample.output_json.a }}", {}, "a")


@pytest.mark.parametrize("template", [
    "{{ answer }}", "{{ item }}", "{{ item. }}", "{{ item.a[ }}", "{{ item.a[-1] }}", "{{ item.a[b] }}",
    "{{ item.a..b }}",    "{{ item.a b }}", "{{ itemized.a }}", "{{ sample }}",
    "{{ sample.output_text.x }}", "{{ sample.output_tool }}",
    "{{ sample.choices[1] }}", "{{ sample.choices[0].finish_reason }}", "{{ sample.choices[0].message.refusal }}",
    "{{ }}",
])
def test_an_unknown_variable_is_refused_before_anything_is_graded(template: str) -> None:
    with pytest.raises(ValueError, match="variables under item, sample"):
        variables(template)


CALL = '<tool_call>{"name": "look", "arguments": {"place":  "Rome", "n": [1, 2]}}</tool_call>'
OTHER = '<tool_call>{"name": "end", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(("template", "text"), [
    ("{{ sample.output_tools[0].function.name }}/{{ sample.output_tools[1].function.name }}", "look/end"),
    ("{{ sample.output_tools[0].function.arguments }}", '{"place":  "Rome", "n": [1, 2]}'),
    ("{{ sample.output_tools.0.function.arguments.n[1] }}", "2"),
    ("{{ sample.choices[0].message.tool_calls[1].type }} {{ sample.choices[0].index }}", "function 0"),
    ("{{ sample.choices[0].message.role }}: {{ sample.choices[0].message.content }}", "assistant: I look."),
])
def test_tool_calls_have_fields(template: str, text: str) -> None:
    assert rendered(template, {}, f"I look. {CALL}{OTHER}") == text
    tools = [{"type": "function", "function": {"name": name}} for name in ("look", "end")]
    assert rendered(template, {"tools": tools}, f"I look. {CALL}{OTHER}") == text


def test_an_output_without_calls_has_an_empty_list_of_them() -> None:
    assert rendered("{{ sample.output_tools }}", {}, "no") == "[]"
    assert json.loads(rendered("{{ sample.choices }}", {}, "no")) == [
        {"index": 0, "message": {"role": "assistant", "content": "no", "tool_calls": None}}]
    for path in ("output_tools[0]", "output_tools[0].function.name", "choices[0].message.tool_calls"):
        with pytest.raises(NoAnswer, match="sample_parse_error"):
            rendered(f"{{{{ sample.{path} }}}}", {}, "no")


def test_without_tools_in_the_row_a_bare_object_with_arguments_is_a_call() -> None:
    name = "{{ sample.output_tools[0].function.name }}"
    assert rendered(name, {}, '{"name": "look", "arguments": {}}') == "look"
    for output in ('{"name": "Ann", "age": 3}', '{"answer": 5}'):
        with pytest.raises(NoAnswer):
            rendered(name, {}, output)
    with pytest.raises(NoAnswer):
        rendered(name, {"tools": [{"function": {"name": "other"}}]}, '{"name": "look", "arguments": {}}')


PIECES = ["{{", "}}", "{", " ", "item", ".x", ".deep", "[0]", "[", "]", "['y']", ".list", "sample", ".output_text", ".",
          ".output_json", ".output_tools", ".choices", ".function", "é", "\0", "{{ item.x }}", "{{ item.answer }}"]


def test_ten_thousand_templates_are_refused_or_filled_in_one_pass() -> None:
    random, filled = Random(0), 0
    for _ in range(10_000):
        template = "".join(random.choices(PIECES, k=random.randrange(1, 10)))
        try:
            text = rendered(template, ITEM, CALL)
        except (ValueError, InvalidSpec, NoAnswer):
            continue
        filled += 1
        assert text.count("{{ item.x }}") >= template.count("{{ item.answer }}")
    assert filled > 1000


@pytest.mark.parametrize("output", ['{"a": NaN}', '{"a": [-Infinity]}', '{"a": 1, "a": 2}'])
def test_an_output_that_not_every_reader_takes_for_json_is_none(output: str) -> None:
    with pytest.raises(NoAnswer, match="sample_parse_error: the output is not JSON"):
        rendered("{{ sample.output_json.a }}", ITEM, output)
