"""Finds boxes \boxed{…} in a text, in a time linear in its length."""

import re
from dataclasses import dataclass

_BRACES = re.compile(r"\\(?:boxed|fbox)\s*\{|\\.|\{|\}", re.DOTALL)


class UnclosedBox(ValueError):
    """The last box is never closed: the text was cut off."""


@dataclass(frozen=True)
class Box:
    """The content of a balanced box, and where the box is in the text."""

    content: str
    start: int
    end: int


def boxes(text: str) -> list[Box]:
    r"""Return the balanced boxes \boxed{…} and \fbox{…} in order, of nested ones the outer ones. Raises UnclosedBox."""
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
        raise UnclosedBox(r"the last \boxed{ is not closed")
    return found


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last balanced \boxed{…}, or None where there is none or the last is not closed."""
    try:
        found = boxes(text)
    except UnclosedBox:
        return None
    return found[-1].content if found else None
