"""What the lines of a player mean."""

from typing import Any

import pytest

from hone.cli.play import described
from hone.cli.play_lines import PlayLine, read
from hone.spec.problems import Invalid

TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {
    "name": "refund", "description": "Pay\n back.", "parameters": {
        "type": "object", "properties": {"order": {"type": "string"}, "amount": {"type": "number"}, "tags": {}},
        "required": ["order"]}}}]


@pytest.mark.parametrize(("line", "meant"), [
    ("  go to shelf 1 ", PlayLine(text="go to shelf 1")),
    ("refund please", PlayLine(text="refund please")),
    ("refund", PlayLine(text="refund")),
    ("a=b", PlayLine(text="a=b")),
    ("it's 3", PlayLine(text="it's 3")),
    ("refund order=12 amount=3.5", PlayLine(tool="refund", arguments={"order": "12", "amount": 3.5})),
    ('/call refund order="W 1" tags=[1]', PlayLine(tool="refund", arguments={"order": "W 1", "tags": [1]})),
    ('/call refund {"order": 7}', PlayLine(tool="refund", arguments={"order": 7})),
    ("/call look", PlayLine(tool="look")),
    ("/call look at=1 in=here", PlayLine(tool="look", arguments={"at": 1, "in": "here"})),
    ("/score", PlayLine(command="/score")),
])
def test_a_line_is_a_text_a_call_or_a_command(line: str, meant: PlayLine) -> None:
    assert read(line, TOOLS) == meant


@pytest.mark.parametrize(("line", "field", "words"), [
    ("/call", "line", "/call TOOL key=value"), ("/jump", "line", "one of /call, /tools"),
    ("/call refund {1}", "refund's arguments", "a JSON object"),
    ("/call refund all of it", "refund's arguments", "key=value"),
    ("/call refund order='1", "refund's arguments", "quotes"), ("/call refund [1]", "refund's arguments", "key=value")])
def test_a_line_that_means_nothing_is_refused(line: str, field: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(line, TOOLS)
    [problem] = refused.value.problems
    assert (problem.field, words in problem.expected) == (field, True)


def test_a_tool_is_described_in_a_line() -> None:
    assert described(TOOLS[0]) == "refund(order, [amount], [tags])  Pay back."
