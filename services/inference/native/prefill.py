"""Filling the cache with contexts in chunks whose shapes depend on the context's length alone, batched with like."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from services.inference.native.cache import Cache
from services.inference.native.decoder import Decoder
from services.inference.native.ladder import LARGEST_CHUNK as CHUNK
from services.inference.native.ladder import Ladder

_WIDTHS = (8, 16, 32, 48, CHUNK)


@dataclass(frozen=True)
class Context:
    """Ids to be cached in a slot from position 0 on."""

    slot: int
    ids: NDArray[np.int64]


@dataclass(frozen=True)
class Chunk:
    """One forward pass over `width` positions from `start` on of several contexts; short ones are padded."""

    start: int
    width: int
    members: list[int]  # places in the list of contexts


def positions_for(length: int) -> int:
    """Return how many cache positions filling a context of `length` ids touches, padding included."""
    return sum(width for _, width in _shape(length))


def fill(decoder: Decoder, cache: Cache, ladder: Ladder, contexts: list[Context]) -> Iterator[tuple[Chunk, Tensor]]:
    """Cache every context; after each chunk yield it with its hidden states [members, width, hidden].

    A context's states do not depend on which others are filled with it.
    """
    for chunk in _chunks(contexts, ladder.rows[-1]):
        yield chunk, _run(decoder, cache, ladder, contexts, chunk)


def last_logits(decoder: Decoder, cache: Cache, ladder: Ladder, contexts: list[Context]) -> Tensor:
    """Cache every context and return the logits [contexts, vocabulary padded] after the last id of each."""
    last = torch.zeros(ladder.rows_for(len(contexts)), decoder.architecture.hidden)
    for chunk, hidden in fill(decoder, cache, ladder, contexts):
        for place, member in enumerate(chunk.members):
            offset = len(contexts[member].ids) - 1 - chunk.start
            if offset < chunk.width:
                last[member] = hidden[place, offset]
    return decoder.logits(last)[:len(contexts)]


def _run(decoder: Decoder, cache: Cache, ladder: Ladder, contexts: list[Context], chunk: Chunk) -> Tensor:
    count = max(len(chunk.members), ladder.rows_for(len(chunk.members) * chunk.width) // chunk.width)
    ids = np.zeros((count, chunk.width), np.int64)
    rows = np.full(count, cache.scratch)
    for place, member in enumerate(chunk.members):
        part = contexts[member].ids[chunk.start:chunk.start + chunk.width]
        ids[place, :len(part)] = part
        rows[place] = contexts[member].slot
    positions = torch.arange(chunk.start, chunk.start + chunk.width).expand(count, -1)
    step = decoder.plan(cache, positions, torch.from_numpy(rows), ladder.reach_for(chunk.start + chunk.width))
    hidden = decoder.hidden(cache, torch.from_numpy(ids.reshape(-1)), step)
    return hidden.view(count, chunk.width, -1)[:len(chunk.members)]


def _chunks(contexts: list[Context], most_rows: int) -> Iterator[Chunk]:
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, context in enumerate(contexts):
        for shape in _shape(len(context.ids)):
            alike[shape].append(place)
    for start, width in sorted(alike):
        members, most = alike[start, width], max(1, most_rows // width)
        for first in range(0, len(members), most):
            yield Chunk(start, width, members[first:first + most])


def _shape(length: int) -> list[tuple[int, int]]:
    """Return (start, width) of each chunk of a context: whole chunks, then the narrowest width that holds the rest."""
    whole = [(start, CHUNK) for start in range(0, length - CHUNK + 1, CHUNK)]
    rest = length % CHUNK
    return whole + ([(length - rest, next(width for width in _WIDTHS if width >= rest))] if rest else [])
