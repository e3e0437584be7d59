"""Words of a line of the desk's shell: quotes and backslashes as POSIX reads them, and patterns of files' names.

What a real shell would read otherwise than as words, and this one does not do, is refused: a line never does something
else than it says.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import NoReturn

from hone.environments.tools import ToolError

_EXPECTED = "expected commands joined by |, the last one perhaps with > FILE"
_OPERATOR = re.compile(r"[|<>&;]+|[()\n]")
_EXPANSION = re.compile(r"\$[\w({?@*#!$-]|`")
_OF_NAMES = "*?["
_WORD = re.compile(r"[^ \t\n|<>&;()]")


@dataclass(frozen=True)
class Word:
    """A word without its quotes. `pattern`, for fnmatch, has what was quoted as it stands; None: it is no pattern."""

    text: str
    pattern: str | None = None


@dataclass(frozen=True)
class Operator:
    """Text between words: | > >>, or an unknown operator."""

    text: str


def read(line: str) -> list[Word | Operator]:
    """Return the words and operators of a line. Raises ToolError for what is not closed or not supported."""
    return list(_Reader(line.strip()).parts())


def expanded(word: Word, paths: Sequence[str]) -> list[str]:
    """Return the paths that a pattern fits, in order, or else the word; * ? [] stand for names of one directory.

    A pattern without / in front stands for the root, and so do its paths.
    """
    if word.pattern is None:
        return [word.text]
    start = "" if word.pattern.startswith("/") else "/"
    whole = start + word.pattern
    fits = sorted(path.removeprefix(start) for path in paths
                  if path.count("/") == whole.count("/") and fnmatchcase(path, whole))
    return fits or [word.text]


class _Reader:
    """Reads a line from left to right."""

    def __init__(self, line: str) -> None:
        self._line, self._at = line, 0

    def parts(self) -> Iterator[Word | Operator]:
        while self._at < len(self._line):
            if operator := _OPERATOR.match(self._line, self._at):
                self._at = operator.end()
                yield Operator(operator[0])
            elif self._line[self._at] in " \t":
                self._at += 1
            else:
                yield self._word()

    def _word(self) -> Word:
        start, text, pattern, names = self._at, "", "", False
        while self._at < len(self._line) and _WORD.match(self._line, self._at):
            bare = self._line[self._at] not in "'\"\\"
            piece = self._piece()
            text += piece
            names |= bare and piece in _OF_NAMES
            pattern += piece if bare else re.sub(r"([*?\[])", r"[\1]", piece)
        self._refuse(self._line[start:self._at])
        return Word(text, pattern if names else None)

    def _piece(self) -> str:
        """Return the meaning of the next character, or everything that it quotes."""
        first = self._line[self._at]
        if first == "'":
            return self._until("'")
        if first == '"':
            return re.sub(r'\\([$`"\\])', r"\1", self._until('"'))
        self._expands(self._at)
        self._at += 1
        if first != "\\":
            return first
        if self._at == len(self._line):
            _fail("the line cannot be read: nothing stands behind the backslash at its end")
        self._at += 1
        return self._line[self._at - 1]

    def _until(self, quote: str) -> str:
        """Return the text up to the closing quote, with its backslashes."""
        start = self._at = self._at + 1
        while self._at < len(self._line) and self._line[self._at] != quote:
            if quote == '"':
                self._expands(self._at)
                self._at += self._line[self._at] == "\\"
            self._at += 1
        if self._at >= len(self._line):
            _fail(f"the line cannot be read: the quote {quote} is not closed")
        self._at += 1
        return self._line[start:self._at - 1]

    def _expands(self, place: int) -> None:
        if found := _EXPANSION.match(self._line, place):
            _fail(f"found {found[0]}: there are no variables and no commands inside of words; '…' keeps it as it is")

    def _refuse(self, word: str) -> None:
        """Raise ToolError for a word, as it was written, that a shell would not take as it stands."""
        bare = re.sub(r"'[^']*'|\"(\\.|[^\"\\])*\"|\\.", "", word)
        if re.search(r"\{[^}]*(,|\.\.).*\}", bare):
            _fail(f"found {word[:80]}: braces are not expanded; '…' keeps them as they are")
        if re.match(r"~(/|$)", word):
            _fail("found ~: there is no home directory; paths begin at /")
        if word.startswith("#"):
            _fail(f"found #, {_EXPECTED}, and no comment; '#' is the character")
        if word.isdecimal() and self._line[self._at:self._at + 1] in ("<", ">"):
            _fail(f"found {word}{self._line[self._at]}, {_EXPECTED}: errors are no text that can go into a file")


def unsupported(operator: str) -> NoReturn:
    """Raise ToolError for an operator that is not known, or not where it stands."""
    _fail(f"found {'a new line' if operator == chr(10) else operator}, {_EXPECTED}")


def _fail(message: str) -> NoReturn:
    raise ToolError(message, "wrong_arguments")
