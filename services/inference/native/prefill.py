"""Filling the cache with contexts in chunks whose shapes depend on the context's length alone, batched with like."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from services.inference.native.cache import CHUNK, Cache
from services.inference.native.decoder import Decoder, chunk
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


def fill(decoder: Decoder, cache: Cache, ladder: Ladder, contexts: list[Context]) -> Iterator[tuple[Chunk, Tensor]]:
    """Cache every context; after each chunk yield it with its hidden states [members, width, hidden].

    A context's states do not depend on which others are filled with it.
    """
    _begin(cache, contexts)
    for part in _chunks(contexts, ladder.rows[-1]):
        hidden = _run(decoder, cache, ladder, contexts, part)
        yield part, hidden.view(-1, part.width, hidden.shape[1])[:len(part.members)]


def last_logits(decoder: Decoder, cache: Cache, ladder: Ladder, contexts: list[Context]) -> Tensor:
    """Cache every context and return the logits [contexts, vocabulary padded] after the last id of each."""
    last = torch.zeros(ladder.rows_for(len(contexts)), decoder.architecture.hidden)
    _begin(cache, contexts)
    for part in _chunks(contexts, ladder.rows[-1]):
        offsets = np.array([len(contexts[member].ids) - 1 - part.start for member in part.members])
        ending = np.flatnonzero(offsets < part.width)
        wanted = np.zeros(ladder.rows_for(len(ending)), np.int64)
        wanted[:len(ending)] = ending * part.width + offsets[ending]
        hidden = _run(decoder, cache, ladder, contexts, part, torch.from_numpy(wanted))
        last[np.array(part.members)[ending]] = hidden[:len(ending)]
    return decoder.logits(last)[:len(contexts)]


def _begin(cache: Cache, contexts: list[Context]) -> None:
    """Give the contexts' slots room for all their chunks, what these are filled up with included."""
    ends = [sum(_shape(len(context.ids))[-1]) for context in contexts]
    cache.begin(np.array([context.slot for context in contexts]), np.array(ends))


def _run(
    decoder: Decoder, cache: Cache, ladder: Ladder, contexts: list[Context], part: Chunk, wanted: Tensor | None = None,
) -> Tensor:
    count = max(len(part.members), ladder.rows_for(len(part.members) * part.width) // part.width)
    ids = np.zeros((count, part.width), np.int64)
    slots = np.full(count, cache.scratch)
    for place, member in enumerate(part.members):
        taken = contexts[member].ids[part.start:part.start + part.width]
        ids[place, :len(taken)] = taken
        slots[place] = contexts[member].slot
    return decoder.hidden(cache, torch.from_numpy(ids.reshape(-1)), chunk(cache, slots, part.start, part.width), wanted)


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
