"""Answers of judges as the database can hold them."""

from dataclasses import replace

from hone.graders.questions import JudgeFailed, Reply
from hone.text.storable import storable

_MOST_TOKENS = 10**9
"""Of one question: a larger count is no count, and many of them would not fit a sum."""


def storable_reply(reply: Reply) -> Reply:
    """Return a judge's answer with such texts, and with counts of tokens that can be added up."""
    return replace(
        reply, text=storable(reply.text), model=storable(reply.model), finish_reason=storable(reply.finish_reason),
        tool_calls=storable(reply.tool_calls), prompt_tokens=min(reply.prompt_tokens, _MOST_TOKENS),
        completion_tokens=min(reply.completion_tokens, _MOST_TOKENS))


def storable_failure(failed: JudgeFailed) -> JudgeFailed:
    """Return a failure of a judge with such a text."""
    return JudgeFailed(failed.kind, storable(str(failed)).removeprefix(f"{failed.kind}: "), failed.missing)
