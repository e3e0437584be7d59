"""Micro-batches: the rows of a batch as flat token arrays without padding. numpy only.

Samples of a group share prefixes. Hone computes each shared prefix once. The rows of a group form a tree: a prompt, or
a prompt with an answer's first tokens, is computed for one row, and the rows that go on from it attend to it and to
themselves, at the positions behind it. If a shared token predicts tokens of several rows, each row has its own share in
the gradient. A row's last token is not an input, because it predicts no trained token.
"""

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np

from hone.trajectory.packing import Batch, Flags, Floats, Ints, Row

Inputs: TypeAlias = tuple[int, ...]

_WORTH = 4
"""A prefix of a prompt or of an answer is shared if it is at least one part in so many of it. Shorter prefixes are not
worth their cost in attention, which has to read them as a context."""

_FEW = 512
"""Number of input tokens up to which a batch is not cut."""

_ID_BITS = 32
"""Largest number of bits of a token id."""


@dataclass(frozen=True)
class MicroBatch:
    """N input tokens and the M trained tokens that they predict."""

    ids: Ints  # [N]
    positions: Ints  # [N]
    spans: Ints  # [P, 4]: start, length, first index into `behind`, number of tokens there
    behind: Ints  # [S], indices of the input tokens before each span that it attends to, span by span
    predicting: Ints  # [M], index of the input token whose output predicts the target
    targets: Ints  # [M]
    trajectory: Ints  # [M], index of the trajectory in the batch
    token: Ints  # [M], index in the step's flat order of trained tokens
    logp_sample: Floats  # [M]

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """Return the indices of the U unique predictions and, for each of the M tokens, its index among them."""
        predictions = self.predicting << _ID_BITS | self.targets
        _, first, which = np.unique(predictions, return_index=True, return_inverse=True)
        return first, which


@dataclass(frozen=True)
class Branch:
    """A row's inputs. The first `shared` of them are shared with the branch before it."""

    inputs: Inputs
    ids: Ints  # [len(inputs)]
    shared: int


@dataclass
class Tree:
    """Rows that are computed together, as a tree of their inputs.

    Branches are sorted, so that a branch shares at least as much with the one before it as with any earlier one.
    """

    rows: list[Row]

    @cached_property
    def branches(self) -> list[Branch]:
        """The different inputs of the rows, sorted."""
        return list(self._branches())

    @cached_property
    def size(self) -> int:
        """Number of input tokens, with shared ones counted once."""
        return sum(len(branch.ids) - branch.shared for branch in self.branches)

    def _branches(self) -> Iterator[Branch]:
        before = np.empty(0, np.int64)
        for inputs, prompt in sorted({(row.inputs, len(row.prompt)) for row in self.rows}):
            ids = np.array(inputs, np.int64)
            yield Branch(inputs, ids, _shared(before, ids, prompt))
            before = ids


@dataclass(frozen=True)
class _Piece:
    """Trajectories of one group that are computed together, as indices into the batch."""

    places: list[int]
    tree: Tree


@dataclass(frozen=True)
class _Layout:
    """The input tokens of a micro-batch, and where each row finds its own."""

    ids: list[Ints]
    positions: list[Ints]
    spans: list[tuple[int, int, int, int]]
    behind: list[Ints]
    paths: list[dict[Inputs, Ints]]  # of each piece: the flat indices of each row's inputs

    @classmethod
    def of(cls, pieces: Sequence[_Piece]) -> "_Layout":
        """Lay out the tokens of all branches one after another."""
        flat, size, seen = cls([], [], [], [], [{} for _ in pieces]), 0, 0
        for piece, paths in zip(pieces, flat.paths, strict=True):
            path = np.empty(0, np.int64)
            for branch in piece.tree.branches:
                length = len(branch.ids) - branch.shared
                flat.behind.append(path[:branch.shared])
                path = np.concatenate([path[:branch.shared], np.arange(size, size + length)])
                paths[branch.inputs] = path
                if length:
                    flat.spans.append((size, length, seen, branch.shared))
                flat.ids.append(branch.ids[branch.shared:])
                flat.positions.append(np.arange(branch.shared, len(branch.ids)))
                size, seen = size + length, seen + branch.shared
        return flat


def nothing() -> MicroBatch:
    """Return a micro-batch of one input token and no trained token, for a rank that has nothing else to compute."""
    none = np.empty(0, np.int64)
    return MicroBatch(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([[0, 1, 0, 0]]), none, none, none, none,
                      none, np.empty(0))


def cut(batch: Batch, kept: Flags, budget: int, ranks: int = 1) -> Iterator[MicroBatch]:
    """Yield micro-batches of at most `budget` input tokens over the kept trajectories [B], in the batch's order.

    Several micro-batches have about the same size, and their number is usually a multiple of `ranks` and of two: those
    computed at the same time end together. A group stays together if it fits. A trajectory always stays together, even
    if it exceeds the budget. The cut depends on the arguments alone, and is the same for one rank as for two.
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
    """Return the input tokens of each micro-batch: one for all, or the fewest that hold `tokens` in whole rounds."""
    return tokens if tokens <= min(budget, _FEW) else tokens / (together * -(-tokens // (together * budget)))


def _groups(batch: Batch, kept: Flags) -> Iterator[list[int]]:
    places = np.flatnonzero(kept)
    edges = np.flatnonzero(np.diff(batch.group[places])) + 1
    yield from (part.tolist() for part in np.split(places, edges) if len(part))


def _pieces(batch: Batch, places: list[int], budget: int) -> Iterator[_Piece]:
    """Yield a group whole if it fits; else as many trajectories at a time as surely fit, at least one."""
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
    """Return how many input tokens rows add at most, if `prompts` are there already."""
    return sum(len(row.inputs) - (len(row.prompt) if row.prompt in prompts else 0) for row in rows)


def _built(batch: Batch, pieces: Sequence[_Piece]) -> MicroBatch:
    flat = _Layout.of(pieces)
    members = [(place, paths) for piece, paths in zip(pieces, flat.paths, strict=True) for place in piece.places]
    rows, paths = zip(*((row, paths[row.inputs]) for place, paths in members for row in batch.rows[place]),
                      strict=True)
    trained, counts = _flat(row.trained for row in rows), _lengths(row.trained for row in rows)
    before = _begins(_lengths(paths)) + _lengths(row.prompt for row in rows) - 1  # a row's first prediction
    first = _begins(_lengths(row.response for row in rows))
    places = np.array([place for place, _ in members], np.int64)
    tokens = batch.tokens[places]
    return MicroBatch(
        ids=_joined(flat.ids), positions=_joined(flat.positions), spans=np.array(flat.spans, np.int64),
        behind=_joined(flat.behind), predicting=_joined(list(paths))[trained + np.repeat(before, counts)],
        targets=_flat(row.response for row in rows)[trained + np.repeat(first, counts)],
        trajectory=np.repeat(places, tokens),
        token=np.arange(tokens.sum()) + np.repeat(batch.offsets[places] - _begins(tokens), tokens),
        logp_sample=np.array([value for row in rows for value in row.logp_sample], np.float64))


def _shared(before: Ints, ids: Ints, prompt: int) -> int:
    """Return how many ids of the common prefix are shared; the first `prompt` of `ids` are the prompt."""
    most = min(len(before), len(ids))
    apart = before[:most] != ids[:most]
    alike = int(apart.argmax()) if apart.any() else most
    surely, whole = (prompt, len(ids)) if alike >= prompt else (0, prompt)
    return alike if _WORTH * (alike - surely) >= whole - surely else surely


def _flat(lists: Iterable[Sequence[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(lists), np.int64)


def _lengths(lists: Iterable[Sized]) -> Ints:
    return np.fromiter(map(len, lists), np.int64)


def _begins(lengths: Ints) -> Ints:
    """Return the start of each of several consecutive parts."""
    return np.cumsum(lengths) - lengths


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
