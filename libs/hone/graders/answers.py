"""Finds the answer in an output. Every function takes time linear in the length of its text."""

import re

from hone.graders.contract import Mark, NoAnswer
from hone.text.boxes import Box, UnclosedBox
from hone.text.boxes import boxes as found_boxes

_TEXT = r"\\(?:text|textbf|textrm|mathrm)\s*\{\s*(?:and|or)\s*\}"
_NAME = r"\\?[A-Za-z]+(?:_\{?\w{1,9}\}?)?\s*="
# What may stand between two boxes of one answer: `$x = \boxed{1}$ and $y = \boxed{2}$`.
_JOINED = re.compile(rf"(?:[\s$.,;:&]|\\[()\[\],;:! ]|\\q?quad\b|{_TEXT}|and\b|or\b|{_NAME})*+")
_HEDGE = re.compile(r"\b(?:or|either|alternatively|otherwise|maybe|perhaps|possibly|if not)\b", re.IGNORECASE)
_SAME_BREATH = 80
"""Characters between two boxes within which a hedge joins them."""


def box(needed: bool) -> Mark:
    r"""Return the mark of an answer in \boxed{…}."""
    return Mark("\\boxed{", "}", needed)


def tag(needed: bool) -> Mark:
    """Return the mark of an answer in <answer>…</answer>."""
    return Mark("<answer>", "</answer>", needed)


def boxes(text: str) -> list[Box]:
    r"""Return the balanced boxes \boxed{…} and \fbox{…} in order, of nested ones the outer ones.

    Raises NoAnswer when the last box is never closed, because the answer was cut off.
    """
    try:
        return found_boxes(text)
    except UnclosedBox as error:
        raise NoAnswer(str(error)) from None


def boxed_together(text: str) -> list[str]:
    r"""Return the contents of the last box and of the boxes before it that belong to the same answer; [] without a box.

    Boxes belong together when only punctuation, `and`, `or` or a name with `=` stands between them, or a hedge such as
    `maybe` in the same breath. Equal contents count once.
    """
    found = boxes(text)
    together = found[-1:]
    for box in reversed(found[:-1]):
        between = text[box.end:together[0].start]
        if not (_JOINED.fullmatch(between) or (len(between) <= _SAME_BREATH and _HEDGE.search(between))):
            break
        together.insert(0, box)
    return list(dict.fromkeys(box.content for box in together))


def last_tagged(text: str) -> str | None:
    """Return the content of the last closed <answer>…</answer>, or None."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    return text[start + len("<answer>"):end] if 0 <= start < end else None
