"""Abilities of a chat template. They are found by rendering a small conversation of each kind.

A template is a program that nobody checked: it may refuse system messages, or drop tools without a word.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hone.text.conversation import Message, Tools, plain
from hone.text.files import TokenizerError, Unbounded
from hone.text.template import ChatTemplate

_ASKED, _SAID, _THIRD = "Lemma", "Corollary", "Theorem"
_TOOL = {"type": "function", "function": {
    "name": "axiom", "description": "Axiom.",
    "parameters": {"type": "object", "properties": {"proof": {"type": "string"}}, "required": ["proof"]}}}
_CALL = {"id": "axiom0001", "type": "function", "function": {"name": "axiom", "arguments": {"proof": _SAID}}}
_USER = {"role": "user", "content": _ASKED}
_CALLED = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_RESULT = {"role": "tool", "content": _THIRD, "tool_call_id": "axiom0001", "name": "axiom"}

WITHOUT_TEMPLATE: Mapping[str, str] = {
    need: f"{need}: the model has no chat template, which would show them"
    for need in ("tools", "tool_calls", "reasoning_content")}
"""Messages that no model without a template can read, with the reason."""

Probe = tuple[list[dict[str, Any]], list[dict[str, Any]], bool, tuple[str, ...]]
"""Messages, tools, whether the next answer is asked for, and the words that have to be shown."""

BASIC: Mapping[str, Probe] = {"question": ([_USER], [], True, (_ASKED,))}
"""The conversation that every template has to render."""

FURTHER: Mapping[str, Probe] = {
    "turns": ([_USER, {"role": "assistant", "content": _SAID}, {"role": "user", "content": _THIRD}], [], True,
              (_ASKED, _SAID, _THIRD)),
    "system": ([{"role": "system", "content": _SAID}, _USER], [], True, (_SAID, _ASKED)),
    "tools": ([_USER], [_TOOL], True, (_ASKED, "axiom", "proof")),
    "tool_calls": ([_USER, _CALLED, _RESULT], [_TOOL], True, ("axiom", _SAID)),
    "tool": ([_USER, _CALLED, _RESULT], [_TOOL], True, (_THIRD,)),
    "reasoning_content": ([_USER, {"role": "assistant", "content": _SAID, "reasoning_content": _THIRD}], [], False,
                          (_SAID, _THIRD)),
    "continued": ([_USER, {"role": "assistant", "content": _SAID}], [], False, (_SAID,)),
}
"""Conversations that a template may refuse, by the name of what they need."""


def needed(messages: Sequence[Message], tools: Tools) -> set[str]:
    """Return the needs of a conversation, as keys of FURTHER."""
    found = {"tools"} if tools else set()
    if any(message["role"] == "assistant" and not message.get("tool_calls") for message in messages[:-1]):
        found.add("turns")
    for message in messages:
        found |= {name for name in ("tool_calls", "reasoning_content") if message.get(name)}
        found |= {message["role"]} & {"system", "tool"}
    if messages and messages[-1]["role"] == "assistant" and not messages[-1].get("tool_calls"):
        found.add("continued")
    return found


def lacking(template: ChatTemplate, parts: bool, probes: Mapping[str, Probe] = FURTHER) -> dict[str, str]:
    """Return the reason for each probe that a template refuses or drops."""
    return {name: reason for name, probe in probes.items() if (reason := _reason(template, parts, name, probe))}


def reads_parts_only(template: ChatTemplate) -> bool:
    """Return whether a template drops a content that is a text, and shows one that is a list of parts."""
    return bool(_reason(template, False, "question", BASIC["question"])) and not (
        _reason(template, True, "question", BASIC["question"]))


def turn_end(template: ChatTemplate, added: Mapping[str, int]) -> str:
    """Return the token that a template writes after an answer; "" if it writes none. `added` are the added tokens."""
    parts = reads_parts_only(template)
    try:
        text = template([plain(one, parts) for one in (_USER, {"role": "assistant", "content": _SAID})], [], False)
    except Unbounded:
        raise
    except TokenizerError:
        return ""
    rest = text[text.rfind(_SAID) + len(_SAID):].lstrip() if _SAID in text else ""
    return max((token for token in added if not token.isspace() and rest.startswith(token)), key=len, default="")


def _reason(template: ChatTemplate, parts: bool, name: str, probe: Probe) -> str:
    messages, tools, ask, words = probe
    try:
        text = template([plain(message, parts) for message in messages], tools, ask)
    except Unbounded:
        raise
    except TokenizerError as error:
        return f"{name}: the model's chat template refuses this: {error}"
    return f"{name}: the model's chat template drops this" if any(word not in text for word in words) else ""


