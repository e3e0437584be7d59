"""The tool loop: completions become actions in both syntaxes, and unreadable calls are reported."""

import json
from typing import Any

import pytest

from hone.environments.tools import tool_call
from hone.harnesses import HARNESSES
from hone.harnesses.tool_loop import ToolLoop, ToolLoopParams

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "description": "", "parameters": {
        "type": "object", "properties": {key: {"type": "string"} for key in arguments}, "required": arguments}}}
    for name, arguments in (("query", ["sql"]), ("move", ["start", "end"]))]
LINE, TAGGED = ToolLoopParams(syntax="line"), ToolLoopParams()


def actions(params: ToolLoopParams, text: str) -> list[str]:
    return ToolLoop().actions(params, text, TOOLS)


def calls(params: ToolLoopParams, text: str) -> list[tuple[str | None, dict[str, Any]]]:
    found = [tool_call(action) for action in actions(params, text)]
    return [(call.tool, call.arguments) for call in found if call]


@pytest.mark.parametrize("text", [
    '<tool_call>\n{"name": "query", "arguments": {"sql": "SELECT 1"}}\n</tool_call>',
    'I look.\n<tool_call>{"name": "query", "arguments": {"sql": "SELECT 1"}}</tool_call> Done.',
    '<tool_call>{"name": "query", "arguments": {"sql": "SELECT 1"}}',  # cut off by a stop text
])
def test_a_tagged_call_is_read(text: str) -> None:
    assert calls(TAGGED, text) == [("query", {"sql": "SELECT 1"})]


def test_several_calls_are_several_actions_in_order() -> None:
    one = '<tool_call>{"name": "query", "arguments": {"sql": "%d"}}</tool_call>'
    assert [arguments["sql"] for _, arguments in calls(TAGGED, "".join(one % n for n in range(3)))] == ["0", "1", "2"]
    assert calls(LINE, "query: a\nso:\nquery:b: c") == [("query", {"sql": "a"}), ("query", {"sql": "b: c"})]


@pytest.mark.parametrize("inside", ["", "{", "[]", '"query"', '{"arguments": {}}', '{"name": 3}',
                                    '{"name": "query", "arguments": []}', "[" * 5000,
                                    '{"name": "\\ud83d", "arguments": {}}'])
def test_a_call_that_cannot_be_read_is_an_action_that_says_so(inside: str) -> None:
    assert calls(TAGGED, f"<tool_call>{inside}</tool_call>") == [(None, {"text": inside})]


@pytest.mark.parametrize("params", [LINE, TAGGED])
@pytest.mark.parametrize("text", ["42", "", "move: a", "unknown: x", "so: 7"])
def test_an_answer_without_a_call_is_said_as_it_is(params: ToolLoopParams, text: str) -> None:
    assert actions(params, text) == [text]


def test_the_first_prompt_describes_tools_unless_the_template_does() -> None:
    asked = [{"role": "user", "content": "?"}]
    tagged, line = (ToolLoop().opening(params, asked, TOOLS) for params in (TAGGED, LINE))
    assert json.dumps(TOOLS[0]) in tagged[0]["content"]
    assert "query: <sql>" in line[0]["content"]
    assert "move" not in line[0]["content"]
    assert tagged[1:] == line[1:] == asked
    assert ToolLoop().opening(ToolLoopParams(describe=False), asked, TOOLS) == asked


def test_plain_chat_takes_each_answer_as_one_action() -> None:
    chat = HARNESSES["chat"]
    assert chat.actions(chat.params(), "query: a\nb", TOOLS) == ["query: a\nb"]


def test_every_harness_describes_itself() -> None:
    for harness in HARNESSES.values():
        assert harness.summary.endswith(".")
        assert harness.params.model_json_schema()["properties"]["max_turns"]
