"""Tool calls while the model writes them: the name first, then the arguments as they come. Pure."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hone.environments.written_calls import WrittenCall
from hone.text.reasoning import Unfinished, answer_start

_MARK = "<tool_call>"
_BEGIN = re.compile(r'<tool_call>\s*\{\s*"name"\s*:\s*("[^"\\]+")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)')


@dataclass(frozen=True)
class CallPiece:
    """New text of the arguments of a call; its first piece has the name."""

    place: int  # among the calls of the answer
    arguments: str
    name: str | None = None


class ArrivingCalls:
    """Gives what is certain of the calls in an answer: those in the form of Hermes and Qwen, in their order.

    Calls in other forms, and those behind them, come with `rest`.
    """

    def __init__(self, most: int | None = None) -> None:
        """`most` calls are given; None: all."""
        self._most = most
        self._sent = list[str]()  # arguments of each call so far
        self._from = 0  # where the next mark is looked for
        self._at: int | None = None  # where the arguments go on
        self._depth, self._in_text, self._escaped = 0, False, False

    @property
    def any(self) -> bool:
        """Whether a call was given."""
        return bool(self._sent)

    def push(self, text: str) -> list[CallPiece]:
        """Return the additions of the answer `text`, which is longer than before."""
        found = list[CallPiece]()
        while self._at is not None or self._opens(text, found):
            new = self._arguments(text)
            if new:
                self._sent[-1] += new
                found.append(CallPiece(len(self._sent) - 1, new))
            if self._at is not None:
                break
        return found

    def rest(self, calls: Sequence[WrittenCall]) -> list[CallPiece]:
        """Return the additions by the calls of the whole answer. Text that was given stays, whatever they say of it."""
        found = list[CallPiece]()
        for place, call in enumerate(calls[:self._most]):
            sent = self._sent[place] if place < len(self._sent) else None
            if sent is None:
                found.append(CallPiece(place, call.arguments, call.name))
            elif call.arguments.startswith(sent) and call.arguments != sent:
                found.append(CallPiece(place, call.arguments[len(sent):]))
        return found

    def _opens(self, text: str, found: list[CallPiece]) -> bool:
        """Return whether the next call begins, with its name in `found`."""
        mark = text.find(_MARK, self._from) if len(self._sent) != self._most else -1
        begin = _BEGIN.match(text, mark) if mark >= 0 else None
        try:
            if begin is None or mark < answer_start(text):
                return False
        except Unfinished:
            return False
        found.append(CallPiece(len(self._sent), "", json.loads(begin[1])))
        self._sent.append("")
        self._at, self._depth, self._in_text, self._escaped = begin.end(), 0, False, False
        return True

    def _arguments(self, text: str) -> str:
        """Return the rest of the arguments so far, up to the brace that ends them."""
        start = self._at or 0
        for end in range(start, len(text)):
            self._read(text[end])
            if not self._depth:
                self._from, self._at = end + 1, None
                return text[start:end + 1]
        self._at = len(text)
        return text[start:]

    def _read(self, character: str) -> None:
        if self._in_text:
            self._in_text = self._escaped or character != '"'
            self._escaped = character == "\\" and not self._escaped
        elif character == '"':
            self._in_text = True
        else:
            self._depth += (character in "{[") - (character in "}]")
