"""Texts of judges as PostgreSQL and protocol buffers can hold them: without NUL and half a surrogate pair.

A judge and a verify server write JSON, and JSON can spell both.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hone.graders.questions import JudgeFailed, Reply

_MOST_TOKENS = 10**9
"""Of one question: a larger count is no count, and many of them would not fit a sum."""


def storable(value: Any) -> Any:
    """Return a JSON value whose texts have the replacement character where they had what cannot be stored."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(value, Mapping):
        return {storable(name): storable(inside) for name, inside in value.items()}
    return [*map(storable, value)] if isinstance(value, list | tuple) else value


def storable_reply(reply: Reply) -> Reply:
    """Return a judge's answer with such texts, and with counts of tokens that can be added up."""
    return replace(
        reply, text=storable(reply.text), model=storable(reply.model), finish_reason=storable(reply.finish_reason),
        tool_calls=storable(reply.tool_calls), prompt_tokens=min(reply.prompt_tokens, _MOST_TOKENS),
        completion_tokens=min(reply.completion_tokens, _MOST_TOKENS))


def storable_failure(failed: JudgeFailed) -> JudgeFailed:
    """Return a failure of a judge with such a text."""
    return JudgeFailed(failed.kind, storable(str(failed)).removeprefix(f"{failed.kind}: "), failed.missing)
