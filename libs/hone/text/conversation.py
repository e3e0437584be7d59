"""Conversations as chat templates read them: messages in OpenAI's form, with tools, tool calls and parts of content."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hone.text.files import TokenizerError

Message = Mapping[str, Any]
"""A message: role and content, and perhaps tool_calls, tool_call_id, name or reasoning_content."""

Tools = Sequence[Mapping[str, Any]]
"""Tools in OpenAI's format of functions."""


def content_text(message: Message) -> str:
    """Return the text of a message: its content, or the texts of its parts one after another.

    Raises TokenizerError for a part that is not text.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return str(content or "")
    return "".join(map(_part_text, content))


PROMPT_CHARACTERS = 8192
"""Characters of a prompt's text that are kept, the last ones."""


def prompt_text(messages: Sequence[Message]) -> str:
    """Return the text of messages by which the value service compares prompts: of a long text the end.

    Parts that are no text are left out.
    """
    contents = (message.get("content") or "" for message in messages)
    parts = (part for content in contents for part in ([content] if isinstance(content, str) else content))
    texts = (part if isinstance(part, str) else part.get("text") for part in parts)
    return clipped_prompt("\n".join(text for text in texts if text and isinstance(text, str)))


def clipped_prompt(text: str) -> str:
    """Return the end of a prompt's text, as the database can hold it."""
    return text[-PROMPT_CHARACTERS:].replace("\0", "").encode(errors="replace").decode()


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("type", "text") != "text" or not isinstance(part.get("text"), str):
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise TokenizerError(f"content: found a part of type {kind}, expected text: the model reads nothing else")
    return str(part["text"])


def with_answer(messages: Sequence[Message], text: str) -> list[Message]:
    """Return a conversation with the text of an answer. It continues a last message of the assistant."""
    if not continues(messages):
        return [*messages, {"role": "assistant", "content": text}]
    return [*messages[:-1], {**messages[-1], "content": content_text(messages[-1]) + text}]


def continues(messages: Sequence[Message]) -> bool:
    """Return whether the next answer continues the last message, which is the assistant's own and calls no tool."""
    return bool(messages) and messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls")


def with_system(messages: Sequence[Message], text: str, system: bool, end: bool = False) -> list[Message]:
    """Return a conversation with a text in its system message, before or (`end`) after what is there.

    Without a system message it becomes one; where the model reads none (`system` is False), the text opens the first
    message.
    """
    if messages and (messages[0]["role"] == "system" or not system):
        own = content_text(messages[0])
        joined = (own, text) if end and messages[0]["role"] == "system" else (text, own)
        return [{**messages[0], "content": "\n\n".join(joined)}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def plain(message: Message, parts: bool) -> dict[str, Any]:
    """Return a message as templates expect it: no empty fields, and arguments of tool calls as objects.

    With `parts` its content is a list of parts, else a text.
    """
    kept = {name: value for name, value in message.items() if value is not None and name != "weight"}
    if "content" in kept:
        text = content_text(kept)
        kept["content"] = [{"type": "text", "text": text}] if parts else text
    if kept.get("tool_calls"):
        kept["tool_calls"] = [_call(call) for call in kept["tool_calls"]]
    return kept


def _call(call: Any) -> Any:
    """Return a tool call whose arguments are an object, as templates write them; OpenAI's clients send them as text."""
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(arguments, str):
        return call
    try:
        read = json.loads(arguments)
    except ValueError:
        return call
    return {**call, "function": {**function, "arguments": read}} if isinstance(read, dict) else call  # type: ignore[dict-item]
