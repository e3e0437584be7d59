"""Reasoning in a model's text: what the model thought is not what it said."""

import re

MARKS: dict[str, str] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "<seed:think>": "</seed:think>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
}
"""Texts that open a block of reasoning, and the text that closes each."""

_OPENS = {closing: opening for opening, closing in MARKS.items()}
_MARK = re.compile("|".join(map(re.escape, (*MARKS, *_OPENS))))


class Unfinished(ValueError):
    """A block of reasoning is open at the end of the text, so there is no answer. The message is for people."""


def opened(prompt: str) -> str:
    """Return the mark of the block that a prompt leaves open at its end; "" if it leaves none open.

    A prompt may speak of marks; only one after which nothing but white space follows opens a block for the model.
    """
    bare = prompt.rstrip()
    return next((mark for mark in MARKS if bare.endswith(mark)), "")


def continued(begun: str, answer: str) -> str:
    """Return the rest of an answer whose first part a prompt holds: a block of reasoning that it opened, and
    that the answer does not continue, is closed.
    """
    mark = opened(begun)
    if answer.startswith(begun):
        return answer.removeprefix(begun)
    return f"\n{MARKS[mark]}\n\n{answer}" if mark else answer


def said(text: str) -> str:
    """Return a text without its blocks of reasoning. A closing mark that nothing opened ends a block from the start.

    Raises Unfinished when the last block is never closed.
    """
    kept, end, opening = list[str](), 0, ""
    for mark in _MARK.finditer(text):
        if opening:
            if mark[0] == MARKS[opening]:
                end, opening = mark.end(), ""
        elif mark[0] in MARKS:
            kept.append(text[end:mark.start()])
            opening = mark[0]
        else:
            kept, end = [], mark.end()
    if opening:
        raise Unfinished(f"the reasoning never ends: {opening} is not closed")
    return "".join([*kept, text[end:]])


def spoken(text: str) -> str:
    """Return the words of a text; "" where its last block of reasoning is never closed."""
    try:
        return said(text)
    except Unfinished:
        return ""


def answer_start(text: str) -> int:
    """Return where a text's answer begins, behind its last block of reasoning. Raises Unfinished as `said` does."""
    said(text)
    return max((mark.end() for mark in _MARK.finditer(text)), default=0)
