"""Finds the answer in an output. Every function takes time linear in the length of its text."""

import re
from dataclasses import dataclass

from hone.graders.contract import Mark, NoAnswer

_BRACES = re.compile(r"\\(?:boxed|fbox)\s*\{|\\.|\{|\}", re.DOTALL)
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


@dataclass(frozen=True)
class Box:
    """The content of a balanced box, and where the box is in the text."""

    content: str
    start: int
    end: int


def boxes(text: str) -> list[Box]:
    r"""Return the balanced boxes \boxed{…} and \fbox{…} in order, of nested ones the outer ones.

    Raises NoAnswer when the last box is never closed, because the answer was cut off.
    """
    opened: list[re.Match[str]] = []
    found: list[Box] = []
    last = -1
    for match in _BRACES.finditer(text):
        if match[0].endswith("{") and match[0] != "\\{":
            opened.append(match)
            last = match.start() if len(match[0]) > 1 else last
        elif match[0] == "}" and opened and len((start := opened.pop())[0]) > 1:
            while found and found[-1].start > start.start():
                found.pop()
            found.append(Box(text[start.end():match.start()].strip(), start.start(), match.end()))
    if any(match.start() == last for match in opened):
        raise NoAnswer(r"the last \boxed{ is not closed")
    return found


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last balanced \boxed{…}, or None where there is none or the last is not closed."""
    try:
        found = boxes(text)
    except NoAnswer:
        return None
    return found[-1].content if found else None


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
