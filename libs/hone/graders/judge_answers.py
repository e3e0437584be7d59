"""Reads the verdicts of judges. What cannot be read is no verdict: the sample is masked, never scored 0."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hone.graders.contract import Tools
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import Asked, JudgeFailed, Reply
from hone.text.reasoning import Unfinished, said

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_SHOWN = 300


async def ask(tools: Tools, question: Asked) -> Reply:
    """Return a judge's answer to one question. Raises JudgeFailed."""
    [reply] = await tools.asked([question])
    if isinstance(reply, JudgeFailed):
        raise reply
    return reply


def read_object(reply: Reply) -> Mapping[str, Any]:
    """Return the JSON object of an answer, also inside a code fence, behind any reasoning. Raises JudgeFailed."""
    for text in _candidates(reply):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    raise unreadable(reply, "expected a JSON object")


def read_number(value: object, low: float, high: float, reply: Reply) -> float:
    """Return a verdict that is a number from low to high. Raises JudgeFailed."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise unreadable(reply, "expected a number")
    if not low <= value <= high:
        raise unreadable(reply, f"found {value:g}, expected a number from {low:g} to {high:g}")
    return float(value)


def read_choice(value: object, choices: Sequence[str], reply: Reply) -> str:
    """Return a verdict that is one of several texts. Raises JudgeFailed."""
    if not isinstance(value, str) or value not in choices:
        raise unreadable(reply, f"found {str(value)[:80]!r}, expected one of {', '.join(choices)}")
    return value


def unreadable(reply: Reply, why: str) -> JudgeFailed:
    """Return the failure of an answer that is no verdict."""
    cut = " It was cut off." if reply.finish_reason == "length" else ""
    return JudgeFailed(ErrorKind.MODEL_PARSE, f"{why}.{cut} The judge answered: {reply.text[:_SHOWN]!r}")


def _candidates(reply: Reply) -> list[str]:
    try:
        text = said(reply.text)
    except Unfinished as error:
        raise unreadable(reply, str(error)) from None
    return [text.strip(), *(inside.strip() for inside in reversed(_FENCE.findall(text)))]
