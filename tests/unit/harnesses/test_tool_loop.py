"""The tool loop: completions become actions in both syntaxes, and unreadable calls are reported."""

import json
from typing import Any

import pytest

from hone.environments.tools import ToolCall, tool_call
from hone.harnesses import tool_loop
from hone.harnesses.catalogue import HARNESSES
from hone.harnesses.contract import first_prompt
from hone.harnesses.tool_loop import ToolLoop, ToolLoopParams

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "description": "", "parameters": {
        "type": "object", "properties": {key: {"type": "string"} for key in arguments}, "required": arguments}}}
    for name, arguments in (("query", ["sql"]), ("move", ["start", "end"]))]
LINE, TAGGED = ToolLoopParams(syntax="line"), ToolLoopParams()


def actions(params: ToolLoopParams, text: str) -> list[str]:
    return tool_loop.actions(params, text, TOOLS)


def opening(params: ToolLoopParams, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return first_prompt(ToolLoop(), params, asked, TOOLS)[0]


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


SQL = {"sql": "SELECT 1"}
CALL = '{"name": "query", "arguments": {"sql": "SELECT 1"}}'


@pytest.mark.parametrize("text", [
    f"<tool_call>{CALL}</tool_call>",
    '<tool_call>{"name": "query", "parameters": {"sql": "SELECT 1"}}</tool_call>',
    '<tool_call>{"name": "query", "arguments": "{\\"sql\\": \\"SELECT 1\\"}"}</tool_call>',
    '<tool_call>{"id": "1", "type": "function", "function": {"name": "query", "arguments": {"sql": "SELECT 1"}}}'
    "</tool_call>",
    f"<tool_call>[{CALL}]</tool_call>",
    f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    '<tool_call>{"name": "query", "arguments": {"sql": "SELECT 1",},}</tool_call>',
    f"<|python_tag|>{CALL}",
    f"<|python_tag|>{CALL}<|eom_id|>",
    f"[TOOL_CALLS][{CALL}]",
    f"[TOOL_CALLS] [{CALL}]</s>",
    '[TOOL_CALLS]query[ARGS]{"sql": "SELECT 1"}',
    '[TOOL_CALLS]query[CALL_ID]a1[ARGS]{"sql": "SELECT 1"}',
    f"[{CALL}]",
    f"```{CALL}```",
    '{"name": "query", "parameters": {"sql": "SELECT 1"}}',
    f"\n```json\n{CALL}\n```",
    f"<think>\nI could <tool_call>{CALL.replace('1', '2')}</tool_call>\n</think>\n<tool_call>{CALL}</tool_call>",
    f"I could ask.</think><tool_call>{CALL}</tool_call>",
])
def test_other_ways_to_write_a_call_are_read_as_meant(text: str) -> None:
    assert calls(TAGGED, text) == [("query", SQL)]


def test_raw_line_ends_and_marks_inside_strings_are_kept() -> None:
    sql = 'SELECT ",}"\nFROM [a,]'
    written = json.dumps({"name": "query", "arguments": {"sql": sql}}).replace("\\n", "\n")
    assert calls(TAGGED, f"<tool_call>{written}</tool_call>") == [("query", {"sql": sql})]


@pytest.mark.parametrize("text", [
    f"<tool_call>[{CALL}, {CALL}]</tool_call>", f"<tool_call>{CALL}\n{CALL}</tool_call>",
    f"<tool_call>{CALL}<tool_call>{CALL}</tool_call>", f"<|python_tag|>{CALL}; {CALL}", f"[TOOL_CALLS][{CALL},{CALL}]",
    f"{CALL}\n{CALL}"])
def test_several_calls_in_one_place_are_several_actions(text: str) -> None:
    assert calls(TAGGED, text) == [("query", SQL), ("query", SQL)]


@pytest.mark.parametrize("inside", [
    "", "{", "[]", '"query"', "null", '{"arguments": {}}', '{"name": 3}', '{"name": "query", "arguments": []}',
    "[" * 5000, '{"name": "\\ud83d", "arguments": {}}', '{"name": "query"}', '{"name": "query", "arguments": {}}',
    '{"name": "query", "arguments": null}', '{"name": "query", "arguments": ""}',
    '{"name": "query", "args": {"sql": "a"}}', "query {}", '{"sql": "SELECT 1"}',
    '{"name": "query", "arguments": "SELECT 1"}', '{"name": "query", "arguments": {"sql": "a"}, "parameters": {}}',
    '{"name": "query", "arguments": {"sql": "a", "sql": "b"}}', '{"name": "query", "arguments": {"sql": NaN}}',
    "{'name': 'query', 'arguments': {'sql': 'a'}}", f"{CALL} or so", f"[{CALL}, 3]", "query: SELECT 1",
    '{"name": "query", "arguments": {"sql": "SELECT 1'])
def test_a_call_that_cannot_be_read_is_an_action_that_says_so(inside: str) -> None:
    assert calls(TAGGED, f"<tool_call>{inside}</tool_call>") == [(None, {"text": inside})]


@pytest.mark.parametrize("params", [LINE, TAGGED])
@pytest.mark.parametrize("call", [f"<tool_call>{CALL}</tool_call>", "\nquery: SELECT 1\n", CALL, "42"])
@pytest.mark.parametrize("opening", ["<think>\n", "so <think>", "[THINK]"])
def test_where_the_reasoning_never_ends_nothing_is_carried_out(params: ToolLoopParams, call: str, opening: str) -> None:
    assert calls(params, opening + call) == [(None, {"text": opening + call})]


@pytest.mark.parametrize("text", ["```\n" + " " * 200_000, "<tool_call>" * 20_000, '{"' * 100_000, "[" * 100_000])
def test_long_nonsense_is_read_in_time(text: str) -> None:
    assert actions(TAGGED, text)


@pytest.mark.parametrize("params", [LINE, TAGGED])
def test_calls_in_the_reasoning_are_thoughts(params: ToolLoopParams) -> None:
    thought = f"<think>\n<tool_call>{CALL}</tool_call>\nquery: SELECT 1\n</think>"
    assert actions(params, f"{thought}42") == ["42"]
    assert actions(params, thought) == [""]


def test_a_line_without_an_argument_calls_nothing() -> None:
    assert calls(LINE, "query:\nquery: a") == [(None, {"text": "query:"}), ("query", {"sql": "a"})]


def test_a_tool_that_needs_no_argument_is_called_with_none() -> None:
    look = {"type": "function", "function": {"name": "look", "description": "", "parameters": {
        "type": "object", "properties": {"where": {"type": "string"}}, "required": []}}}
    for text, params in (('<tool_call>{"name": "look"}</tool_call>', TAGGED), ("look:", LINE)):
        [action] = tool_loop.actions(params, text, [look])
        call = tool_call(action)
        assert call is not None
        assert call.tool == "look"


def test_a_tool_without_arguments_has_a_line_of_its_name_alone() -> None:
    look: dict[str, Any] = {"type": "function", "function": {"name": "look", "description": "", "parameters": {
        "type": "object", "properties": {}, "required": []}}}
    found = [tool_call(action) for action in tool_loop.actions(LINE, "look:\nlook: there", [look])]
    assert found == [ToolCall("look", {}), ToolCall(None, {"text": "look: there"})]
    assert "\nlook:\n" in first_prompt(ToolLoop(), LINE, [], [look])[0][0]["content"]


@pytest.mark.parametrize("text", [
    '{"name": "other", "arguments": {"a": 1}}', '{"answer": 3}', "{3}", "```json\n3\n```", "[3, 4]", "```", "``````"])
def test_json_that_names_no_tool_is_a_final_answer(text: str) -> None:
    assert actions(TAGGED, text) == [text]


@pytest.mark.parametrize("params", [LINE, TAGGED])
@pytest.mark.parametrize("text", ["42", "", "move: a", "unknown: x", "so: 7"])
def test_an_answer_without_a_call_is_said_as_it_is(params: ToolLoopParams, text: str) -> None:
    assert actions(params, text) == [text]


def test_the_first_prompt_describes_tools_unless_the_template_does() -> None:
    asked = [{"role": "user", "content": "?"}]
    tagged, line = (opening(params, asked) for params in (TAGGED, LINE))
    assert json.dumps(TOOLS[0]) in tagged[0]["content"]
    assert "query: <sql>" in line[0]["content"]
    assert "move" not in line[0]["content"]
    assert tagged[1:] == line[1:] == asked
    assert opening(ToolLoopParams(describe=False), asked) == asked


def test_every_harness_describes_itself() -> None:
    for harness in HARNESSES.values():
        assert harness.summary.endswith(".")
        assert harness.params.model_json_schema()["properties"]["max_turns"]
