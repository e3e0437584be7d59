"""Tool calls that arrive in pieces are those of the whole answer."""

import pytest

from hone.environments.written_calls import WrittenCall, content_and_calls
from services.gateway.openai.arriving_calls import ArrivingCalls, CallPiece
from tests.support.gateway.tool_calls import HERMES, SECOND, TOOLS

_NESTED = '<tool_call>{"name": "add", "arguments": {"x": "}\\"{[", "y": [{}]}}</tool_call>'


def joined(pieces: list[CallPiece]) -> list[WrittenCall]:
    """Return the calls that a client makes of pieces."""
    names = {piece.place: piece.name for piece in pieces if piece.name is not None}
    return [WrittenCall(name, "".join(piece.arguments for piece in pieces if piece.place == place))
            for place, name in sorted(names.items())]


@pytest.mark.parametrize("text", [
    "Four.", f"Let me see. {HERMES}", HERMES + SECOND, _NESTED, f"<think>{HERMES}</think>No.", f"<think>{HERMES}",
    f"<think>hm</think>Yes {SECOND}", '<tool_call>{"name": "add", "arguments": {"x": }}</tool_call>',
    '<tool_call>{"arguments": {"x": 1}, "name": "add"}</tool_call>' + SECOND, '{"name": "add", "parameters": {"x": 3}}',
    '<tool_call>{"name": "add", "arguments": "x"}</tool_call>', '<tool_call>{"name": "add", "arguments": {"x": 1}',
    '<tool_call>{"name": "add", "arguments": {"x": "cut', "<tool_call>nothing"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_joined_they_are_the_calls_of_the_whole(text: str, size: int) -> None:
    arriving, pieces = ArrivingCalls(), list[CallPiece]()
    for end in range(size, len(text) + size, size):
        pieces += arriving.push(text[:end])
    calls = content_and_calls(text, TOOLS)[1]
    assert joined(pieces + arriving.rest(calls)) == calls


def test_the_name_comes_first_and_arguments_follow_as_they_are_written() -> None:
    arriving = ArrivingCalls()
    texts = ['<tool_call>{"name": "add", "arg', 'uments": {', '"x": 1', "}}</tool_call>"]
    found = [arriving.push("".join(texts[:end])) for end in range(1, 5)]
    assert found == [[], [CallPiece(0, "", "add"), CallPiece(0, "{")], [CallPiece(0, '"x": 1')], [CallPiece(0, "}")]]


def test_one_call_is_given_where_no_more_are_wanted() -> None:
    arriving = ArrivingCalls(1)
    pieces = arriving.push(HERMES + SECOND)
    calls = content_and_calls(HERMES + SECOND, TOOLS)[1]
    assert joined(pieces + arriving.rest(calls)) == [WrittenCall("add", '{"x":  1}')]
