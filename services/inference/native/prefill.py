"""Prefill: contexts are cached in chunks, for their next token or to score the ids in them.

The shapes of a context's chunks depend only on its length, so that its bits do not depend on other contexts. Chunks of
equal shape share a forward pass.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from services.inference.native.cache import CHUNK, Cache
from services.inference.native.decoder import Decoder, chunk
from services.inference.native.safe_shapes import ROWS, SafeShapes
from services.inference.scoring import Scored, ScoreItem, likeliest

_WIDTHS = (8, 16, 32, 48, CHUNK)


@dataclass(frozen=True)
class Context:
    """Ids to cache in a slot, from position 0 on."""

    slot: int
    ids: NDArray[np.int64]


@dataclass(frozen=True)
class Chunk:
    """One forward pass over `width` positions from `start` on of several contexts. Shorter contexts are padded."""

    start: int
    width: int
    members: list[int]  # indices in the list of contexts


def last_logits(decoder: Decoder, cache: Cache, shapes: SafeShapes, contexts: list[Context]) -> Tensor:
    """Cache every context, and return the logits [contexts, padded vocabulary] after its last id."""
    last = torch.zeros(shapes.rows_for(len(contexts)), decoder.architecture.hidden)
    _begin(cache, contexts)
    for part in _chunks(contexts, shapes.rows[-1]):
        offsets = np.array([len(contexts[member].ids) - 1 - part.start for member in part.members])
        ending = np.flatnonzero(offsets < part.width)
        wanted = np.zeros(shapes.rows_for(len(ending)), np.int64)
        wanted[:len(ending)] = ending * part.width + offsets[ending]
        hidden = _run(decoder, cache, shapes, contexts, part, torch.from_numpy(wanted))
        last[np.array(part.members)[ending]] = hidden[:len(ending)]
    return decoder.logits(last)[:len(contexts)]


def score(
    decoder: Decoder, cache: Cache, shapes: SafeShapes, items: list[ScoreItem], temperature: float, top_k: int
) -> list[Scored]:
    """Return the scores of at most `BATCH` items; `cache` is a temporary cache with as many slots.

    The numerics are those of generation.
    """
    contexts = [Context(slot, np.array(item.context_ids + item.ids)) for slot, item in enumerate(items)]
    cache.reserve(max(len(context.ids) for context in contexts))
    scored = [Scored() for _ in items]
    for part, hidden in _fill(decoder, cache, shapes, contexts):  # the chunks of each context come in order
        for place, member in enumerate(part.members):
            item, first = items[member], len(items[member].context_ids)
            # The state at position p scores the id at p + 1.
            begin, end = max(first - 1, part.start), min(len(contexts[member].ids) - 1, part.start + part.width)
            if begin < end:
                logp = _logp(decoder, hidden[place, begin - part.start:end - part.start], temperature)
                scored[member].extend(_scored(logp, item.ids[begin + 1 - first:end + 1 - first], top_k))
    return scored


def _fill(
    decoder: Decoder, cache: Cache, shapes: SafeShapes, contexts: list[Context]
) -> Iterator[tuple[Chunk, Tensor]]:
    """Cache every context, and yield each chunk with its hidden states [members, width, hidden].

    A context's states do not depend on the other contexts.
    """
    _begin(cache, contexts)
    for part in _chunks(contexts, shapes.rows[-1]):
        hidden = _run(decoder, cache, shapes, contexts, part)
        yield part, hidden.view(-1, part.width, hidden.shape[1])[:len(part.members)]


def _begin(cache: Cache, contexts: list[Context]) -> None:
    """Give the contexts' slots blocks for all their chunks, padding included."""
    ends = [sum(_spans(len(context.ids))[-1]) for context in contexts]
    cache.begin(np.array([context.slot for context in contexts]), np.array(ends))


def _run(
    decoder: Decoder, cache: Cache, shapes: SafeShapes, contexts: list[Context], part: Chunk,
    wanted: Tensor | None = None,
) -> Tensor:
    count = max(len(part.members), shapes.rows_for(len(part.members) * part.width) // part.width)
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
        for shape in _spans(len(context.ids)):
            alike[shape].append(place)
    for start, width in sorted(alike):
        members, most = alike[start, width], max(1, most_rows // width)
        for first in range(0, len(members), most):
            yield Chunk(start, width, members[first:first + most])


def _spans(length: int) -> list[tuple[int, int]]:
    """Return (start, width) of each chunk of a context: whole chunks, then the narrowest width that holds the rest."""
    whole = [(start, CHUNK) for start in range(0, length - CHUNK + 1, CHUNK)]
    rest = length % CHUNK
    return whole + ([(length - rest, next(width for width in _WIDTHS if width >= rest))] if rest else [])


def _logp(decoder: Decoder, states: Tensor, temperature: float) -> Tensor:
    """Return log-probs [positions, vocabulary] after hidden states [positions, hidden]."""
    padded = torch.zeros(-(-len(states) // ROWS) * ROWS, states.shape[1])
    padded[:len(states)] = states
    logits = decoder.logits(padded)[:len(states), :decoder.architecture.vocab_size]
    return torch.log_softmax(logits.div_(temperature), -1)


def _scored(logp: Tensor, ids: tuple[int, ...], top_k: int) -> Scored:
    """Return the scores of `ids` [positions] from log-probs [positions, vocabulary]."""
    entropy = -logp.exp().mul_(logp).sum(-1)
    top_ids, top_logp = likeliest(logp, top_k)
    return Scored(logp.gather(1, torch.tensor(ids)[:, None]).squeeze(1).tolist(), entropy.tolist(),
                  top_ids.ravel().tolist(), top_logp.ravel().tolist())
