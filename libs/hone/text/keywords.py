"""How much two texts are about the same, by their words: the retriever of skills, of a library and of old messages.

And whether a text says a value.
"""

import re
import unicodedata
from collections.abc import Set
from functools import lru_cache

WORD = r"[0-9A-Za-z_\u00c0-\u024f\u0370-\u052f]"
"""A character inside of a word: Latin with its accents, Greek, Cyrillic, digits. In scripts that write no spaces, or
join small words to others, no character is a boundary."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text, in any case."""
    return frozenset(re.findall(r"\w+", text.casefold()))


def overlap(ours: Set[str], theirs: Set[str]) -> float:
    """Return the share of common words in the smaller one of two sets, in [0, 1]; 0 where one is empty."""
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))


def says(words: str, value: str) -> bool:
    """Return whether words hold a value, as whole words, in upper or lower case."""
    held, sought = folded(words), folded(value)
    if sought not in held:  # most are not, and this is a hundred times as fast as a pattern of their own
        return False
    return re.search(rf"(?<!{WORD}){re.escape(sought)}(?!{WORD})", held) is not None


@lru_cache(maxsize=64)
def folded(text: str) -> str:
    """Return a text in lower case, white space collapsed, each letter with its accents as one character."""
    lower = text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())
    return " ".join(lower.split())
