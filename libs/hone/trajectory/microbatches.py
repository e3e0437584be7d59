"""Micro-batches: rows as flat, un-padded token arrays, what a group says twice packed once. numpy only.

Rows of one group form a tree: tokens that rows begin with alike, a prompt or an answer's first words, stand once, and
what goes on apart attends to them and to itself, its positions going on from there. Where a token that stands once
predicts for several rows, each has its own share in the gradient. A completion's last token is no input: it predicts
nothing that trains.
"""

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from hone.trajectory.packing import Batch, Flags, Floats, Ints, Row
from hone.trajectory.trees import Inputs, Tree

_FEW = 512
"""Input tokens that are not worth cutting."""

_ID_BITS = 32
"""Of a token id, at most."""


@dataclass(frozen=True)
class MicroBatch:
    """N input tokens, of which M predictions train."""

    ids: Ints  # [N]
    positions: Ints  # [N]
    spans: Ints  # [P, 4]: start, length, first of `behind` that it sees, how many of them; it sees itself causally
    behind: Ints  # [S], places of the tokens that spans see before their own, one span's after another's
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


@dataclass(frozen=True)
class _Piece:
    """Trajectories of one group that are computed together, by their places in the batch."""

    places: list[int]
    tree: Tree


@dataclass(frozen=True)
class _Standing:
    """The input tokens of a micro-batch, and where each row's stand."""

    ids: list[Ints]
    positions: list[Ints]
    spans: list[tuple[int, int, int, int]]
    behind: list[Ints]
    paths: list[dict[Inputs, Ints]]  # of each piece: the places of a row's inputs

    @classmethod
    def of(cls, pieces: Sequence[_Piece]) -> "_Standing":
        """Let each branch begin behind all others."""
        standing, size, seen = cls([], [], [], [], [{} for _ in pieces]), 0, 0
        for piece, paths in zip(pieces, standing.paths, strict=True):
            path = np.empty(0, np.int64)
            for branch in piece.tree.branches:
                length = len(branch.ids) - branch.shared
                standing.behind.append(path[:branch.shared])
                path = np.concatenate([path[:branch.shared], np.arange(size, size + length)])
                paths[branch.inputs] = path
                if length:
                    standing.spans.append((size, length, seen, branch.shared))
                standing.ids.append(branch.ids[branch.shared:])
                standing.positions.append(np.arange(branch.shared, len(branch.ids)))
                size, seen = size + length, seen + branch.shared
        return standing


def nothing() -> MicroBatch:
    """Return a micro-batch of one input token that trains nothing: what is computed to keep others company."""
    none = np.empty(0, np.int64)
    return MicroBatch(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([[0, 1, 0, 0]]), none, none, none, none,
                      none, np.empty(0))


def cut(batch: Batch, kept: Flags, budget: int, ranks: int = 1) -> Iterator[MicroBatch]:
    """Yield micro-batches of at most `budget` input tokens over the kept trajectories [B], in the batch's order.

    Where they are more than one they are of like size and as a rule a multiple of `ranks` and of two in number, so that
    those that are computed side by side end together. A group stays together where it fits; a trajectory always does,
    even beyond the budget. The cut depends on the arguments alone, and is the same for one rank as for two.
    """
    pieces = [piece for places in _groups(batch, kept) for piece in _pieces(batch, places, budget)]
    part = _like_size(sum(piece.tree.size for piece in pieces), budget, math.lcm(2, ranks))
    together, size, taken, closed = list[_Piece](), 0, 0, 0
    for piece in pieces:
        more = piece.tree.size
        if together and (size + more > budget or taken + more / 2 > (closed + 1) * part):
            yield _built(batch, together)
            together, size, closed = [], 0, closed + 1
        together.append(piece)
        size, taken = size + more, taken + more
    if together:
        yield _built(batch, together)


def _like_size(tokens: int, budget: int, together: int) -> float:
    """Return the input tokens of each part: of the only one, or of the fewest that hold `tokens` in whole rounds."""
    return tokens if tokens <= min(budget, _FEW) else tokens / (together * -(-tokens // (together * budget)))


def _groups(batch: Batch, kept: Flags) -> Iterator[list[int]]:
    places = np.flatnonzero(kept)
    edges = np.flatnonzero(np.diff(batch.group[places])) + 1
    yield from (part.tolist() for part in np.split(places, edges) if len(part))


def _pieces(batch: Batch, places: list[int], budget: int) -> Iterator[_Piece]:
    """Yield a group whole where it fits; else as many trajectories at a time as surely do, at least one."""
    whole = _piece(batch, places)
    if whole.tree.size <= budget:
        yield whole
        return
    first, size, prompts = 0, 0, set[tuple[int, ...]]()
    for number, place in enumerate(places):
        if number > first and size + _most(batch.rows[place], prompts) > budget:
            yield _piece(batch, places[first:number])
            first, size, prompts = number, 0, set()
        size += _most(batch.rows[place], prompts)
        prompts |= {row.prompt for row in batch.rows[place]}
    yield _piece(batch, places[first:])


def _piece(batch: Batch, places: list[int]) -> _Piece:
    return _Piece(places, Tree([row for place in places for row in batch.rows[place]]))


def _most(rows: list[Row], prompts: set[tuple[int, ...]]) -> int:
    """Return the input tokens that rows add at most where `prompts` stand."""
    return sum(len(row.inputs) - (len(row.prompt) if row.prompt in prompts else 0) for row in rows)


def _built(batch: Batch, pieces: Sequence[_Piece]) -> MicroBatch:
    standing = _Standing.of(pieces)
    members = [(place, paths) for piece, paths in zip(pieces, standing.paths, strict=True) for place in piece.places]
    rows, paths = zip(*((row, paths[row.inputs]) for place, paths in members for row in batch.rows[place]),
                      strict=True)
    trained, counts = _flat(row.trained for row in rows), _lengths(row.trained for row in rows)
    before = _begins(_lengths(paths)) + _lengths(row.prompt for row in rows) - 1  # a row's first prediction
    first = _begins(_lengths(row.response for row in rows))
    places = np.array([place for place, _ in members], np.int64)
    tokens = batch.tokens[places]
    return MicroBatch(
        ids=_joined(standing.ids), positions=_joined(standing.positions), spans=np.array(standing.spans, np.int64),
        behind=_joined(standing.behind), predicting=_joined(list(paths))[trained + np.repeat(before, counts)],
        targets=_flat(row.response for row in rows)[trained + np.repeat(first, counts)],
        trajectory=np.repeat(places, tokens),
        token=np.arange(tokens.sum()) + np.repeat(batch.offsets[places] - _begins(tokens), tokens),
        logp_sample=np.array([value for row in rows for value in row.logp_sample], np.float64))


def _flat(lists: Iterable[Sequence[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(lists), np.int64)


def _lengths(lists: Iterable[Sized]) -> Ints:
    return np.fromiter(map(len, lists), np.int64)


def _begins(lengths: Ints) -> Ints:
    """Return where each of several parts begins that follow one another."""
    return np.cumsum(lengths) - lengths


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
