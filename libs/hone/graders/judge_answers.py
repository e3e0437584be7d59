"""Reads the verdicts of judges. What cannot be read is no verdict: the sample is masked, never scored 0."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hone.graders.contract import Tools
from hone.graders.error_kinds import ErrorKind
from hone.graders.questions import Asked, JudgeFailed, Reply
from hone.spec import strict_json
from hone.text.reasoning import Unfinished, said

_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_OBJECT = re.compile(r'\{\s*"')
_SHOWN = 300


async def ask(tools: Tools, question: Asked) -> Reply:
    """Return a judge's answer to one question. Raises JudgeFailed."""
    [reply] = await tools.asked([question])
    if isinstance(reply, JudgeFailed):
        raise reply
    return reply


def read_object(reply: Reply) -> Mapping[str, Any]:
    """Return the JSON object of an answer, also inside a code fence, behind any reasoning. Raises JudgeFailed.

    An object with a key twice, and an answer of several objects, are no verdict: one of them may be a quotation of what
    the policy wrote.
    """
    text = _said(reply)
    if (alone := _object(text, reply)) is not None:
        return alone
    fenced = [found for inside in _FENCE.findall(text) if (found := _object(inside, reply)) is not None]
    if len(fenced) > 1 or (fenced and _OBJECT.search(_FENCE.sub("", text))):
        raise unreadable(reply, "found several JSON objects, expected a single object")
    if fenced:
        return fenced[0]
    raise unreadable(reply, "expected a JSON object")


def read_number(value: object, low: float, high: float, reply: Reply) -> float:
    """Return a verdict that is a number from low to high. Raises JudgeFailed."""
    number = strict_json.number(value)
    if number is None or not math.isfinite(number):
        raise unreadable(reply, "expected a number")
    if not low <= number <= high:
        raise unreadable(reply, f"found {number:g}, expected a number from {low:g} to {high:g}")
    return number


def read_choice(value: object, choices: Sequence[str], reply: Reply) -> str:
    """Return a verdict that is one of several texts. Raises JudgeFailed."""
    if not isinstance(value, str) or value not in choices:
        raise unreadable(reply, f"found {str(value)[:80]!r}, expected one of {', '.join(choices)}")
    return value


def unreadable(reply: Reply, why: str) -> JudgeFailed:
    """Return the failure of an answer that is no verdict."""
    cut = " It was cut off." if reply.finish_reason == "length" else ""
    return JudgeFailed(ErrorKind.MODEL_PARSE, f"{why}.{cut} The judge answered: {reply.text[:_SHOWN]!r}")


def _object(text: str, reply: Reply) -> dict[str, Any] | None:
    """Return the object that a text is; None where it is none. Raises JudgeFailed for one that two readers read apart.
    """
    try:
        found = strict_json.read(text.strip())
    except strict_json.RepeatedKey as error:
        raise unreadable(reply, str(error)) from None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _said(reply: Reply) -> str:
    try:
        return said(reply.text)
    except Unfinished as error:
        raise unreadable(reply, str(error)) from None
