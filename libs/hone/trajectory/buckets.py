"""Spans of flat tokens padded to few shapes, so that attention over them is a few large products. numpy only."""

from dataclasses import dataclass

import numpy as np

from hone.trajectory.packing import Flags, Ints


@dataclass(frozen=True)
class Bucket:
    """R spans of the flat tokens, padded to the same shape: L queries, and L keys behind C keys of context.

    Where contexts are no longer than spans they are queries too, so that each sees those up to itself: to compute half
    of a square is less than what a mask leaves. Padded queries repeat a real token; they and contexts are read by
    nobody. Padded keys come after all queries that are read, or are hidden by `visible`.
    """

    queries: Ints  # [R, L], or [R, C + L] where contexts are queries too, places in the flat tokens
    keys: Ints  # [R, C + L]
    visible: Flags | None  # [L, C + L], or [R, L, C + L] where contexts differ in length; None: causal


def padded(spans: Ints, behind: Ints, tokens: int) -> tuple[list[Bucket], Ints]:
    """Sort spans [P, 4] by the size class of context and length, and pad each class to its largest.

    A span is (start, length, first, before): it sees the tokens at `before` of the places `behind` [S], from `first`
    on, and its own up to themselves.

    With the buckets comes the place of each of the flat tokens among their outputs, one bucket's after the other; -1
    where a token is of no span.
    """
    classes = np.stack([_size_class(spans[:, 3]), _size_class(spans[:, 1])], axis=1)
    restore, buckets, filled = np.full(tokens, -1), [], 0
    ended = np.append(behind, 0)  # where one sees nothing behind, something stands that nobody reads
    for size in np.unique(classes, axis=0):
        bucket, real = _bucket(spans[(classes == size).all(axis=1)], ended)
        outputs = filled + np.arange(bucket.queries.size).reshape(bucket.queries.shape)
        restore[bucket.queries[real]] = outputs[real]
        buckets.append(bucket)
        filled += bucket.queries.size
    return buckets, restore


def _size_class(sizes: Ints) -> Ints:
    """0 for 0, else the exponent of the next power of the square root of two, and one class for all up to 8."""
    return np.where(sizes > 0, np.ceil(2 * np.log2(np.maximum(sizes, 8))), 0).astype(np.int64)


def _bucket(spans: Ints, behind: Ints) -> tuple[Bucket, Flags]:
    """Return the padded spans and which queries are read, [R, queries]."""
    start, length, first, before = (spans[:, column, None] for column in range(4))
    if before.max() <= length.max():
        return _causal(start, length, before, behind[first + np.minimum(np.arange(before.max()), before)])
    steps, backwards = np.arange(length.max()), np.arange(-before.max(), 0)
    queries = start + np.minimum(steps, length - 1)
    keys = np.concatenate([behind[first + np.maximum(before + backwards, 0)], queries], axis=1)
    return Bucket(queries, keys, _visible(before, len(backwards), len(steps))), steps < length


def _causal(start: Ints, length: Ints, before: Ints, context: Ints) -> tuple[Bucket, Flags]:
    steps = np.arange((before + length).max())
    places = start + np.clip(steps - before, 0, length - 1)
    most = context.shape[1]
    places[:, :most] = np.where(steps[:most] < before, context, places[:, :most])
    return Bucket(places, places, None), (steps >= before) & (steps < before + length)


def _visible(before: Ints, context: int, length: int) -> Flags:
    causal = np.tri(length, dtype=np.bool_)
    if (before == context).all():
        return np.concatenate([np.ones((length, context), np.bool_), causal], axis=1)
    known = np.arange(context) >= context - before
    shape = (len(before), length)
    return np.concatenate([
        np.broadcast_to(known[:, None], (*shape, context)), np.broadcast_to(causal, (*shape, length)),
    ], axis=2)
