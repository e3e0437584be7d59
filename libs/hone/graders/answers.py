"""Finds the answer in an output. Every function takes time linear in the length of its text."""

import re

_BRACES = re.compile(r"\\boxed\s*\{|\\.|\{|\}", re.DOTALL)


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last balanced \boxed{…} (the outer one, of two nested ones), or None."""
    opened: list[int | None] = []
    found = None
    for match in _BRACES.finditer(text):
        if match[0].endswith("{") and match[0] != "\\{":
            opened.append(match.end() if len(match[0]) > 1 else None)
        elif match[0] == "}" and opened:
            start = opened.pop()
            found = found if start is None else text[start:match.start()]
    return found


def last_tagged(text: str) -> str | None:
    """Return the content of the last closed <answer>…</answer>, or None."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    return text[start + len("<answer>"):end] if 0 <= start < end else None
