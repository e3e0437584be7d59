"""Tool calls in answers, in the order and with the arguments that the model wrote."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hone.harnesses.written_calls import written_calls
from hone.text.reasoning import Unfinished, answer_start

MARKS = ("<tool_call>", "<|python_tag|>", "[TOOL_CALLS]")
"""Texts with which calls begin."""
_BARE = ("{", "[", "```")
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]+)"')
_ARGUMENTS = re.compile(r'"(?:arguments|parameters)"\s*:\s*|(?<=\[ARGS\])')
Tools = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class WrittenCall:
    """A call of a function; `arguments` is the text that the model wrote, which may be no JSON."""

    name: str
    arguments: str


def read(text: str, tools: Tools) -> tuple[str, list[WrittenCall]]:
    """Return the content of an answer without its tool calls, and the calls. What was only thought is no call."""
    try:
        start = answer_start(text)
    except Unfinished:
        return text, []
    answer = text[start:]
    calls = list(_calls(answer, tools)) if tools else []
    if not calls:
        return text, []
    begins = [place for mark in MARKS if (place := answer.find(mark)) >= 0]
    return text[:start + min(begins, default=0)].rstrip(), calls


def _calls(answer: str, tools: Tools) -> list[WrittenCall]:
    found, place = list[WrittenCall](), 0
    for call in written_calls(answer, [*tools]):
        if call.tool is None:
            named = _NAME.search(call.arguments["text"])
            if named is None:
                return found  # it is no call, or one that was cut before its name; alone, the text stays as it is
            found.append(WrittenCall(named[1], _malformed(call.arguments["text"], named.end())))
            continue
        text, place = _as_written(answer, place, call.arguments)
        found.append(WrittenCall(call.tool, text))
    return found


def _as_written(answer: str, place: int, arguments: dict[str, Any]) -> tuple[str, int]:
    """Return the text of the next arguments and where it ends; their JSON where the text says something else."""
    begin = _ARGUMENTS.search(answer, place)
    if begin is not None:
        try:
            value, end = json.JSONDecoder().raw_decode(answer, begin.end())
        except ValueError:
            value, end = None, begin.end()
        if value == arguments:
            return answer[begin.end():end], end
        place = end
    return json.dumps(arguments), place


def _malformed(text: str, place: int) -> str:
    """Return what stands for the arguments in a call that is no JSON, or was cut before its end."""
    begin = _ARGUMENTS.search(text, place)
    if begin is not None:
        with suppress(ValueError):
            return text[begin.end():json.JSONDecoder().raw_decode(text, begin.end())[1]]
    return text[begin.end():].strip().removesuffix("}").rstrip() if begin else text[place:].strip(" ,}\n")


class SpokenPieces:
    """The content of an answer while it arrives: what may turn out to be a tool call is held back until the end."""

    def __init__(self, tools: Tools, begun: str = "") -> None:
        self._tools, self._text, self._sent = tools, begun, 0

    def push(self, text: str) -> str:
        """Return the content that is certain now."""
        if not self._tools:
            return text
        self._text += text
        bare = self._text.lstrip()
        if not bare or bare.startswith(_BARE) or any(begin.startswith(bare) for begin in _BARE):
            return ""
        return self._until(self._safe())

    @property
    def text(self) -> str:
        """The answer so far, with what it began with."""
        return self._text

    def finish(self) -> tuple[str, list[WrittenCall]]:
        """Return the rest of the content, and the calls."""
        content, calls = read(self._text, self._tools) if self._tools else ("", [])
        return content[self._sent:], calls

    def _until(self, end: int) -> str:
        new, self._sent = self._text[self._sent:end], max(self._sent, end)
        return new

    def _safe(self) -> int:
        """Return how many characters come before any mark, or before what may be the beginning of one."""
        found = [place for mark in MARKS if (place := self._text.find(mark)) >= 0]
        partial = (len(self._text) - size for mark in MARKS for size in range(len(mark) - 1, 0, -1)
                   if self._text.endswith(mark[:size]))
        return min([*found, *partial], default=len(self._text))
