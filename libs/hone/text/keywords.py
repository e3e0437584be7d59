"""How much two texts are about the same, by their words: the retriever of skills, of a library and of old messages.

And whether a text says a value.
"""

import re
from collections.abc import Set


def words(text: str) -> frozenset[str]:
    """Return the words of a text, in any case."""
    return frozenset(re.findall(r"\w+", text.casefold()))


def overlap(ours: Set[str], theirs: Set[str]) -> float:
    """Return the share of common words in the smaller one of two sets, in [0, 1]; 0 where one is empty."""
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))


def says(words: str, value: str) -> bool:
    """Return whether words hold a value, as whole words, in upper or lower case."""
    one, other = (" ".join(text.casefold().split()) for text in (words, value))
    return re.search(rf"(?<!\w){re.escape(other)}(?!\w)", one, re.ASCII) is not None
