"""Rows with given answers as trajectories: what is trained, and which rows cannot be."""

from typing import Any

import pytest

from hone.environments.demonstrations import UnusableRow, trajectories
from hone.text.rules import TextRules
from hone.text.tokenizer import Tokenizer
from tests.unit.text.styles import STYLES, files

TOKENIZERS = {name: Tokenizer(files(STYLES[name]), TextRules(date="2026-01-31")) for name in ("qwen3", "r1", "gemma")}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 12}'}}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "42"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def trained(row: dict[str, Any], *columns: str, style: str = "qwen3") -> list[list[tuple[str, str]]]:
    """Return the text of each call's prompt and completion, for each trajectory."""
    tokenizer = TOKENIZERS[style]
    made = trajectories(row, 7, columns or ("completion",), tokenizer)
    assert all(all(call.train_mask) and len(call.train_mask) == len(call.completion_ids)
               for one in made for call in one.calls)
    return [[(tokenizer.decode(call.prompt_ids), call.text) for call in one.calls] for one in made]


BEGIN = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"


def test_a_prompt_and_its_completion() -> None:
    assert trained({"prompt": "a", "completion": "42"}) == [[(BEGIN, "<think>\n\n</think>\n\n42")]]
    assert trained({"prompt": "a", "completion": "hm</think>42"}, style="r1")[0][0][1] == "hm</think>42"


def test_a_pair_is_two_trajectories_of_one_prompt() -> None:
    chosen, rejected = trained({"prompt": "a", "chosen": "42", "rejected": "43"}, "chosen", "rejected")
    assert chosen[0][0] == rejected[0][0] == BEGIN
    assert (chosen[0][1][-2:], rejected[0][1][-2:]) == ("42", "43")


def test_a_conversation_trains_the_assistants_messages_that_have_weight() -> None:
    messages = [user("a"), assistant("one", weight=0), user("b"), assistant("two"), user("c"), assistant("three")]
    [calls] = trained({"messages": messages})
    assert [text.removeprefix("<think>\n\n</think>\n\n") for _, text in calls] == ["two", "three"]
    assert calls[0][0].endswith("assistant\none<|im_end|>\n<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n")


def test_tools_and_their_calls_are_in_prompt_and_answer() -> None:
    [calls] = trained({"messages": [user("a"), CALLED, RESULT, assistant("It is 42.")], "tools": [TOOL]})
    assert '"name": "add"' in calls[0][0]
    assert '<tool_call>\n{"name": "add", "arguments": {"a": 12}}\n</tool_call>' in calls[0][1]
    assert "<tool_response>\n42\n</tool_response>" in calls[1][0]
    assert calls[1][1].endswith("It is 42.")


@pytest.mark.parametrize(("row", "style", "reason"), [
    ({"messages": [user("a")]}, "qwen3", "found neither completion nor a message of the assistant"),
    ({"messages": [user("a"), assistant("b", weight=0)]}, "qwen3", "found neither completion nor"),
    ({"messages": [{"role": "system", "content": "a"}, user("b")], "completion": "c"}, "gemma", "system: the model's"),
    ({"messages": [user("b")], "tools": [TOOL], "completion": "c"}, "gemma", "tools: the model's chat template drops"),
    ({"messages": [user("a"), CALLED]}, "gemma", "tool_calls: the model's chat template drops"),
    ({"completion": "c"}, "qwen3", "item.prompt: found None"),
])
def test_a_row_that_cannot_be_trained_on_has_its_reason(row: dict[str, Any], style: str, reason: str) -> None:
    with pytest.raises(UnusableRow, match=reason):
        trained(row, style=style)
