"""Answers as OpenAI's Responses objects, and back."""

import json
from typing import Any

import pytest
from openai.types.responses import Response

from hone.graders import responses
from hone.spec.problems import Invalid

TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 2}}\n</tool_call>'


@pytest.mark.parametrize(("item", "answer"), [
    ({"prompt": "two and two?"}, "four"), ({"prompt": "two and two?"}, CALL), ({"tools": TOOLS, "prompt": "?"}, CALL),
    ({"tools": TOOLS, "prompt": "?"}, f"I add.\n{CALL}\n{CALL}"), ({"prompt": "?"}, "")])
def test_an_answer_survives_both_ways(item: dict[str, Any], answer: str) -> None:
    """OpenAI's own client reads the object."""
    made = responses.response_of(item, answer)
    assert made == responses.response_of(item, answer), "equal answers are equal objects"
    assert responses.text_of(Response.model_validate(made).model_dump(mode="json")) == answer
    assert responses.text_of(json.loads(json.dumps(made))) == answer
    calls = [one["name"] for one in made["output"] if one["type"] == "function_call"]
    assert len(calls) == (answer.count("<tool_call>") if "tools" in item else 0)


def test_what_stands_before_a_tools_result_and_reasoning_is_no_answer() -> None:
    said: dict[str, Any] = {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "4"}, {"type": "refusal", "refusal": "!"}]}
    output = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "5"}]},
              {"type": "message", "content": "I add."}, {"type": "function_call", "name": "add", "arguments": "{}"},
              {"type": "function_call_output", "output": "4"}, said, {**said, "content": "done"}]
    assert responses.text_of({"output": output}) == "4!\ndone"


@pytest.mark.parametrize(("output", "field"), [
    (None, ""), ("4", ""), ([4], "[0]"), ([{"text": "4"}], "[0]"), ([{"type": "message"}], "[0].content"),
    ([{"type": "message", "content": ["4"]}], "[0].content[0]"),
    ([{"type": "message", "content": [{"type": "output_text", "text": 4}]}], "[0].content[0].text"),
    ([{"type": "function_call", "arguments": "{}"}], "[0].name"),
    ([{"type": "function_call", "name": "add", "arguments": {}}], "[0].arguments")])
def test_another_object_is_refused_with_the_field(output: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        responses.text_of({"output": output})
    assert [one.field for one in refused.value.problems] == [f"response.output{field}"]


def test_a_submission_has_the_rows_fields_and_its_messages() -> None:
    row = {"messages": [{"role": "user", "content": "?"}], "tools": TOOLS, "answer": 4}
    sent = responses.submission(row, "4")
    assert sent["responses_create_params"] == {"input": row["messages"], "tools": [
        {"type": "function", "name": "add", "parameters": {"type": "object"}}]}
    assert sent["answer"] == 4
    own = {"responses_create_params": {"input": "?", "model": "m"}, "response": "old", "answer": 4}
    assert responses.submission(own, "4", {"expected": "answer"}) == {
        "expected": 4, "responses_create_params": own["responses_create_params"],
        "response": responses.response_of(own, "4")}
    with pytest.raises(KeyError, match="tone"):
        responses.submission(own, "4", {"tone": "tone"})
