"""The text of an answer while its ids arrive, and the text and bytes of single tokens."""

from collections.abc import Sequence

from hone.text import token_bytes
from hone.text.model_text import ModelText

CONTEXT = 8
"""Ids before a token that decide how it is written."""
_MOST_BYTES = 4


class TextStream:
    """Turns ids into text piece by piece. The pieces joined are the text of all ids, as `ModelText.decode` gives it.

    Bytes that are no text are the exception: some decoders make what was readable before them unreadable, too.
    """

    def __init__(self, text: ModelText, prompt_ids: Sequence[int]) -> None:
        self._text = text
        self._ids = list(prompt_ids[-CONTEXT:])
        self._known, self._shown = 0, len(self._ids)  # ids[known:shown] gave the text before

    def push(self, ids: Sequence[int], last: bool = False) -> str:
        """Return the text that new ids add. What later ids may still change comes with them, or with the `last`."""
        if last and ids and ids[-1] in self._text.stop_ids:
            ids = ids[:-1]
        added = "".join(map(self._push, ids))
        return added + self._text.read(self._ids[self._shown:]) if last else added

    def _push(self, id: int) -> str:
        self._ids.append(id)
        before = self._text.read(self._ids[self._known:self._shown])
        now = self._text.read(self._ids[self._known:])
        waits = now.endswith("\ufffd") and len(self._ids) - self._shown < _MOST_BYTES
        if waits or not now.startswith(before):
            return ""
        self._known, self._shown = self._shown, len(self._ids)
        return now[len(before):]


def token(text: ModelText, id: int, before: Sequence[int]) -> tuple[str, bytes]:
    """Return the text of one token after the ids `before`, and its bytes, which name a part of a character."""
    added = text.added(id, before)
    raw = token_bytes.named(text.written(id)) if "\ufffd" in added or not added else None
    if raw is None:
        return added, added.encode()
    try:
        return raw.decode(), raw
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw), raw
