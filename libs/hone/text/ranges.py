"""Where ranges of characters are among the tokens of a text."""

from collections.abc import Sequence

import numpy as np


def token_ranges(pieces: Sequence[str], ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges of characters as ranges of tokens, given the text that each token adds.

    A token belongs to a range if any of its text does. A character of several ids is text of each of them.
    """
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    starts = np.cumsum(lengths) - lengths
    ends = starts + np.maximum(lengths, 1)
    return [(int(np.searchsorted(ends, opened, side="right")), int(np.searchsorted(starts, behind)))
            for opened, behind in ranges]
