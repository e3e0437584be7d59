"""The shape of a conversation in a dataset's row: what its messages and tools may hold, so that nothing is dropped."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

ROLES = ("system", "user", "assistant", "tool")
KEYS = ("role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "weight")
"""Keys of a message. Another key would reach no model."""


class Misfit(NamedTuple):
    """A wrong field of a conversation: its path, the value found, and the expectation."""

    field: str
    found: Any
    expected: str


def misfits(messages: Any, tools: Any = None) -> Iterator[Misfit]:
    """Yield what is wrong with the `messages` and `tools` of a row."""
    if not isinstance(messages, list) or not messages:
        yield Misfit("messages", messages, "a list of at least one message")
    else:
        for place, message in enumerate(messages):
            yield from _message(message, f"messages[{place}]")
    if tools is not None:
        yield from _tools(tools)


def unanswerable(messages: list[Any]) -> Iterator[Misfit]:
    """Yield why no answer can be asked for: the last message calls tools whose results are missing."""
    if messages and messages[-1].get("tool_calls"):
        yield Misfit(f"messages[{len(messages) - 1}]", "calls of tools without their results",
                     "a last message that can be answered or continued")


def _message(message: Any, at: str) -> Iterator[Misfit]:
    if not isinstance(message, dict):
        yield Misfit(at, message, "an object with role and content")
        return
    for key, value in message.items():
        if key not in KEYS and value is not None:
            yield Misfit(f"{at}.{key}", value, f"one of the keys {', '.join(KEYS)}: another would reach no model")
    if message.get("role") not in ROLES:
        yield Misfit(f"{at}.role", message.get("role"), f"one of {', '.join(ROLES)}")
    for key in ("tool_call_id", "name", "reasoning_content"):
        if not isinstance(message.get(key), str | None):
            yield Misfit(f"{at}.{key}", message[key], "a text")
    yield from _content(message, at)
    yield from _of_assistants(message, at)


def _content(message: Mapping[str, Any], at: str) -> Iterator[Misfit]:
    content = message.get("content")
    if isinstance(content, list) and content:
        for place, part in enumerate(content):
            if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
                yield Misfit(f"{at}.content[{place}]", part, 'a part of text, {"type": "text", "text": …}: models here '
                             "read nothing else")
    elif not (isinstance(content, str) and content) and not _may_be_empty(message, content):
        yield Misfit(f"{at}.content", content, "a text that is not empty")


def _may_be_empty(message: Mapping[str, Any], content: Any) -> bool:
    """Return whether a message needs no content: it calls tools, or is the empty result of one."""
    no_text = content is None or content == ""
    return no_text and bool(message.get("tool_calls") or (message.get("role") == "tool" and content == ""))


def _of_assistants(message: Mapping[str, Any], at: str) -> Iterator[Misfit]:
    for key in ("tool_calls", "weight", "reasoning_content"):
        if message.get(key) is not None and message.get("role") != "assistant":
            yield Misfit(f"{at}.{key}", message[key], "nothing: only messages of the assistant have it")
    if message.get("weight") not in (None, 0, 1):
        yield Misfit(f"{at}.weight", message["weight"], "0 or 1")
    calls = message.get("tool_calls")
    if calls is not None and (not isinstance(calls, list) or not calls):
        yield Misfit(f"{at}.tool_calls", calls, "a list of at least one call")
    for place, call in enumerate(calls if isinstance(calls, list) else []):
        yield from _call(call, f"{at}.tool_calls[{place}]")


def _call(call: Any, at: str) -> Iterator[Misfit]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        yield Misfit(at, call, 'an object with "function": {"name", "arguments"}')
    elif not _is_object(function.get("arguments")):
        yield Misfit(f"{at}.function.arguments", function.get("arguments"), "a JSON object, or its text")


def _is_object(arguments: Any) -> bool:
    if not isinstance(arguments, str):
        return isinstance(arguments, dict)
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _tools(tools: Any) -> Iterator[Misfit]:
    if not isinstance(tools, list) or not tools:
        yield Misfit("tools", tools, "a list of at least one tool")
        return
    for place, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            yield Misfit(f"tools[{place}]", tool, 'an object with "type": "function" and "function": {"name", …}')
