"""Micro-batches: rows as flat, un-padded token arrays, what a group says twice packed once. numpy only.

Rows of one group with the same prompt form a tree: the prompt's tokens stand once, each completion attends to them
and to itself, and its positions go on from the prompt's end. Equal completions stand once as well: what they predict is
the same, and each of them has its own share in the gradient. A completion's last token is no input: it predicts nothing
that trains.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from hone.trajectory.packing import Batch, Flags, Floats, Ints, Row

_FEW = 512
"""Input tokens that are not worth cutting."""

_ID_BITS = 32
"""Of a token id, at most."""

_Piece: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""What stands once: of a group, a prompt, or the inputs of a completion behind it; a prompt has () there."""


@dataclass(frozen=True)
class MicroBatch:
    """N input tokens, of which M predictions train."""

    ids: Ints  # [N]
    positions: Ints  # [N]
    spans: Ints  # [P, 4]: start, length, start of the context that it sees, length of that; a span sees itself causally
    predicting: Ints  # [M], place of the input token whose output predicts the target
    targets: Ints  # [M]
    trajectory: Ints  # [M], place in the batch
    token: Ints  # [M], place in the step's flat order of trained tokens
    logp_sample: Floats  # [M]

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """Return the places of U predictions that differ from one another, and which of these each of the M is."""
        predictions = self.predicting << _ID_BITS | self.targets
        _, first, which = np.unique(predictions, return_index=True, return_inverse=True)
        return first, which


@dataclass
class _Builder:
    """A micro-batch in the making; spans are (start, length, context start, context length)."""

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    starts: dict[_Piece, int] = field(default_factory=dict)
    predicting: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    trajectory: list[int] = field(default_factory=list)
    token: list[int] = field(default_factory=list)
    logp_sample: list[float] = field(default_factory=list)

    def cost(self, group: int, rows: Iterable[Row]) -> int:
        """Count the input tokens that `rows` would add."""
        pieces = {piece for row in rows for piece in _pieces(group, row)} - self.starts.keys()
        return sum(len(inputs or prompt) for _, prompt, inputs in pieces)

    def add(self, group: int, trajectory: int, rows: Iterable[Row], first_token: int) -> None:
        """Append the rows of a trajectory, whose trained tokens start at `first_token` of the step."""
        for row in rows:
            self._add_row(group, row)
            count = len(row.trained)
            self.trajectory += [trajectory] * count
            self.token += range(first_token, first_token + count)
            self.logp_sample += row.logp_sample
            first_token += count

    def _add_row(self, group: int, row: Row) -> None:
        context, start = (self._start(piece) for piece in _pieces(group, row))
        last = context + len(row.prompt) - 1
        self.predicting += [start + place - 1 if place else last for place in row.trained]
        self.targets += [row.response[place] for place in row.trained]

    def _start(self, piece: _Piece) -> int:
        """Return where a piece's tokens begin: behind all others if they did not stand yet. A prompt comes first."""
        if piece not in self.starts:
            (group, prompt, inputs), start = piece, len(self.ids)
            added, before = inputs or prompt, len(prompt) if inputs else 0
            self.spans.append((start, len(added), self.starts.get((group, prompt, ()), start), before))
            self.ids += added
            self.positions += range(before, before + len(added))
            self.starts[piece] = start
        return self.starts[piece]

    def build(self) -> MicroBatch:
        """Return the finished micro-batch."""
        return MicroBatch(
            np.array(self.ids, np.int64), np.array(self.positions, np.int64), np.array(self.spans, np.int64),
            np.array(self.predicting, np.int64), np.array(self.targets, np.int64),
            np.array(self.trajectory, np.int64), np.array(self.token, np.int64), np.array(self.logp_sample, np.float64),
        )


def _pieces(group: int, row: Row) -> tuple[_Piece, _Piece]:
    return (group, row.prompt, ()), (group, row.prompt, tuple(row.response[:-1]))


def nothing() -> MicroBatch:
    """Return a micro-batch of one input token that trains nothing: what is computed to keep others company."""
    return _Builder(ids=[0], positions=[0], spans=[(0, 1, 0, 0)]).build()


def cut(batch: Batch, kept: Flags, budget: int, ranks: int = 1) -> Iterator[MicroBatch]:
    """Yield micro-batches of at most `budget` input tokens over the kept trajectories [B], in the batch's order.

    Where they are more than one they are of like size and as a rule a multiple of `ranks` and of two in number, so that
    those that are computed side by side end together. A group stays together where it fits; a trajectory always does,
    even beyond the budget. The cut depends on the arguments alone, and is the same for one rank as for two.
    """
    groups = [(group, _cost(_Builder(), batch, group)) for group in _groups(batch, kept)]
    size = _like_size(sum(cost for _, cost in groups), budget, math.lcm(2, ranks))
    builder, offsets, taken, closed = _Builder(), batch.offsets.tolist(), 0, 0
    for group, cost in groups:
        if builder.ids and (len(builder.ids) + cost > budget or taken + cost / 2 > (closed + 1) * size):
            yield builder.build()
            builder, closed = _Builder(), closed + 1
        for place in group:
            number, rows = int(batch.group[place]), batch.rows[place]
            if builder.ids and len(builder.ids) + builder.cost(number, rows) > budget:
                yield builder.build()
                builder, closed = _Builder(), closed + 1
            builder.add(number, place, rows, offsets[place])
        taken += cost
    if builder.ids:
        yield builder.build()


def _like_size(tokens: int, budget: int, together: int) -> float:
    """Return the input tokens of each part: of the only one, or of the fewest that hold `tokens` in whole rounds."""
    return tokens if tokens <= min(budget, _FEW) else tokens / (together * -(-tokens // (together * budget)))


def _groups(batch: Batch, kept: Flags) -> Iterator[list[int]]:
    places = np.flatnonzero(kept)
    edges = np.flatnonzero(np.diff(batch.group[places])) + 1
    yield from (part.tolist() for part in np.split(places, edges) if len(part))


def _cost(builder: _Builder, batch: Batch, group: list[int]) -> int:
    return builder.cost(int(batch.group[group[0]]), [row for place in group for row in batch.rows[place]])
