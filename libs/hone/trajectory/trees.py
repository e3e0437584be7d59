"""What rows begin with alike stands once: the inputs of a group's rows as a tree. numpy only.

A row's inputs are its prompt and its completion but for the last token. Sorted, a row begins with nothing in common
with an earlier one that it has not in common with the last, and so the whole tree is told by neighbours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from hone.trajectory.packing import Ints, Row

Inputs: TypeAlias = tuple[int, ...]

_WORTH = 4
"""Of a prompt, or of an answer, an alike beginning is shared from one part in so many on: less is not worth a context
of its own length, for which attention pays."""


@dataclass(frozen=True)
class Branch:
    """A row's inputs, of which the first `shared` stand where those of the row before it do."""

    inputs: Inputs
    ids: Ints  # [len(inputs)]
    shared: int


@dataclass
class Tree:
    """Rows that are computed together."""

    rows: list[Row]

    @cached_property
    def branches(self) -> list[Branch]:
        """Different inputs, sorted."""
        return list(self._branches())

    @cached_property
    def size(self) -> int:
        """Tokens that stand."""
        return sum(len(branch.ids) - branch.shared for branch in self.branches)

    def _branches(self) -> Iterator[Branch]:
        before = np.empty(0, np.int64)
        for inputs, prompt in sorted({(row.inputs, len(row.prompt)) for row in self.rows}):
            ids = np.array(inputs, np.int64)
            yield Branch(inputs, ids, _shared(before, ids, prompt))
            before = ids


def _shared(before: Ints, ids: Ints, prompt: int) -> int:
    """Return how many of the ids that both begin with stand once; the first `prompt` of `ids` are the prompt."""
    most = min(len(before), len(ids))
    apart = before[:most] != ids[:most]
    alike = int(apart.argmax()) if apart.any() else most
    surely, whole = (prompt, len(ids)) if alike >= prompt else (0, prompt)
    return alike if _WORTH * (alike - surely) >= whole - surely else surely
