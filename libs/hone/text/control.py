"""Control tokens in text that is not the template's own: they become ordinary text.

A user, a row, a database or a tool may spell `<|im_end|>`. A sentinel inside of it keeps the tokenizer from reading a
control token there; the vocabulary drops the sentinel before it looks for ordinary tokens.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

SENTINEL = "\ufdd0"
"""A code point that Unicode reserves for a program's own use. No text holds it."""


class Disarmed:
    """Finds the texts of control tokens and disarms them."""

    def __init__(self, tokens: Iterable[str]) -> None:
        """`tokens` are the texts of the control tokens. A token of one character cannot be disarmed."""
        longest_first = sorted((token for token in tokens if len(token) > 1), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """Return a text in which no control token can be read."""
        if self._pattern is None:
            return text
        while (found := self._pattern.sub(lambda match: match[0][0] + SENTINEL + match[0][1:], text)) != text:
            text = found  # tokens may overlap
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value with all of its texts disarmed."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(inner) for key, inner in value.items()}
        return [self.value(inner) for inner in value] if isinstance(value, list | tuple) else value
