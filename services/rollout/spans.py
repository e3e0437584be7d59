"""Named spans of a completion as ranges of its tokens."""

from collections.abc import Sequence

import numpy as np

from hone.harnesses.spans import Marks
from hone.harnesses.spans import spans as in_text
from hone.trajectory.records import Span
from hone.trajectory.tokens import Tokenizer


def spans(ids: Sequence[int], kinds: Sequence[Marks], tokenizer: Tokenizer) -> list[Span]:
    """Return the spans of a completion, kind after kind; its text is that of all its ids, a stop among them.

    A token belongs to a span if any of its text does; a character of several ids is text of each of them.
    """
    if not kinds:
        return []
    pieces = tokenizer.pieces(ids)
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    starts = np.cumsum(lengths) - lengths
    ends = starts + np.maximum(lengths, 1)
    return [Span(marks.name, int(np.searchsorted(ends, opened, side="right")), int(np.searchsorted(starts, behind)),
                 marks.weight)
            for marks, opened, behind in in_text("".join(pieces), kinds)]
