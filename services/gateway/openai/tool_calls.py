"""The content of an answer while it arrives, apart from the tool calls in it."""

from hone.environments.written_calls import MARKS, WrittenCall, content_and_calls
from hone.text.conversation import Tools

_BARE = ("{", "[", "```")


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
        content, calls = content_and_calls(self._text, self._tools) if self._tools else ("", [])
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
