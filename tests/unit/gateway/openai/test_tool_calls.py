"""Tool calls in answers keep the text of their arguments, whole or in pieces."""

import pytest

from hone.environments.written_calls import WrittenCall, content_and_calls
from services.gateway.openai.tool_calls import SpokenPieces
from tests.support.gateway.tool_calls import HERMES, SECOND, TOOLS


@pytest.mark.parametrize(("text", "content", "calls"), [
    ("Four.", "Four.", []),
    (f"Let me see. {HERMES}", "Let me see.", [WrittenCall("add", '{"x":  1}')]),
    (HERMES + SECOND, "", [WrittenCall("add", '{"x":  1}'), WrittenCall("look", '{"x": 2}')]),
    ('<tool_call>{"name": "add", "arguments": {"x": }}</tool_call>', "", [WrittenCall("add", '{"x": }')]),
    ('{"name": "add", "parameters": {"x": 3}}', "", [WrittenCall("add", '{"x": 3}')]),
    ('[TOOL_CALLS]add[ARGS]{"x": 4}', "", [WrittenCall("add", '{"x": 4}')]),
    (f"<think>{HERMES}</think>No.", f"<think>{HERMES}</think>No.", []),
    (f"<think>{HERMES}", f"<think>{HERMES}", []),
    (f"<think>hm</think>Yes {HERMES}", "<think>hm</think>Yes", [WrittenCall("add", '{"x":  1}')]),
    ("<tool_call>nothing", "<tool_call>nothing", []),
    ('{"name": "unknown", "arguments": {"x": 1}}', '{"name": "unknown", "arguments": {"x": 1}}', []),
])
def test_calls_are_read_whole_and_in_pieces(text: str, content: str, calls: list[WrittenCall]) -> None:
    assert content_and_calls(text, TOOLS) == (content, calls)
    for size in (1, 3, len(text)):
        pieces = SpokenPieces(TOOLS)
        said = "".join(pieces.push(text[start:start + size]) for start in range(0, len(text), size))
        rest, found = pieces.finish()
        assert (said + rest).rstrip() == content
        assert found == calls


def test_content_without_tools_is_passed_on_at_once() -> None:
    pieces = SpokenPieces([])
    assert [pieces.push(HERMES), pieces.finish()] == [HERMES, ("", [])]
    with_tools = SpokenPieces(TOOLS)
    assert [with_tools.push(text) for text in ("Hi <to", "ast> ", "<tool_", "call>x")] == ["Hi ", "<toast> ", "", ""]
