"""What answers are held to, as grammars that llguidance compiles."""

from typing import Any

import llguidance
import pytest

from services.gateway.openai import guides
from services.gateway.openai.refusals import WrongRequest
from services.gateway.openai.requests import ChatRequest

_ADD: dict[str, Any] = {"type": "function", "function": {"name": "add", "strict": True, "parameters": {
    "type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}}}
_LOOSE: dict[str, Any] = {"type": "function", "function": {"name": "lo.ose", "parameters": {
    "type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}}}
_FORM: dict[str, Any] = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "integer"}}}


def guide(control: tuple[str, ...] = (), **more: Any) -> guides.Guide | None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}
    return guides.of(ChatRequest.model_validate(asked), control)


@pytest.mark.parametrize("more", [
    {}, {"response_format": {"type": "text"}}, {"tools": [_ADD]}, {"tools": [_ADD], "tool_choice": "none"}])
def test_nothing_holds_an_answer_that_may_be_any_text(more: dict[str, Any]) -> None:
    assert guide(**more) is None


@pytest.mark.parametrize(("more", "field"), [
    ({"response_format": {"type": "json_object"}}, "response_format.type"),
    ({"response_format": _FORM}, "response_format.json_schema.schema"),
    ({"response_format": _FORM, "tools": [_ADD]}, "response_format.json_schema.schema"),
    ({"tools": [_ADD, _LOOSE], "tool_choice": "required"}, "tools"),
    ({"tools": [_ADD], "tool_choice": "required", "parallel_tool_calls": False}, "tools"),
    ({"tools": [_LOOSE], "tool_choice": {"type": "function", "function": {"name": "lo.ose"}}}, "tools"),
])
def test_grammars_compile_and_name_their_field(more: dict[str, Any], field: str) -> None:
    made = guide(**more)
    assert made is not None
    assert made.field == field
    assert llguidance.LLMatcher.validate_grammar(made.grammar) == ""


def test_marks_are_tokens_of_their_own_where_the_model_has_such() -> None:
    wanted: dict[str, Any] = {"tools": [_ADD], "response_format": _FORM}
    as_text, as_tokens = guide(**wanted), guide(("<tool_call>", "</tool_call>"), **wanted)
    assert as_text is not None
    assert as_tokens is not None
    assert '"<tool_call>"' in as_text.grammar
    assert "| <tool_call> " in as_tokens.grammar


def test_an_unknown_keyword_of_a_strict_function_is_refused() -> None:
    strict = {**_LOOSE, "function": {**_LOOSE["function"], "strict": True}}
    made = guide(tools=[strict], tool_choice="required")
    assert made is not None
    assert "uniqueItems" in llguidance.LLMatcher.validate_grammar(made.grammar)


@pytest.mark.parametrize("detail", [
    "grammar: found 'start: x', expected a grammar that llguidance can follow: it is bad",
    "request.grammar: found 'a, expected b', expected a grammar that llguidance can follow: it is bad",
    "the grammar cannot be followed: it is bad"])
def test_an_engines_refusal_names_the_schema(detail: str) -> None:
    with pytest.raises(WrongRequest) as refused, guides.blamed(guide(response_format=_FORM)):
        raise WrongRequest(detail)
    (problem,) = refused.value.problems
    assert (problem.field, problem.expected) == (
        "response_format.json_schema.schema", "a format that answers can be held to: it is bad")


def test_other_refusals_pass() -> None:
    with pytest.raises(WrongRequest, match="else"), guides.blamed(guide(response_format=_FORM)):
        raise WrongRequest("something else")


def test_a_schema_nested_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(3000):
        schema = {"items": schema}
    with pytest.raises(WrongRequest, match="wrong"):
        guides._json(schema, "response_format.json_schema.schema")
