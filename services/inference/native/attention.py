"""Attention of one query per sequence over cached keys and values, compiled for this machine by numba.

A sequence's keys and values are too large for a processor's cache, so they are read once, in the order in which they
are stored: in blocks of positions, with all heads of a block side by side. The keys of a block are stored so that
sixteen positions are compared at once. Sequences that begin alike share blocks, and a block that was just read for one
of them is in the cache for the next. The bits of a row depend only on that row and on the number of positions that it
sees. All arithmetic is float32.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hone.models.compiled import INLINED, OPTIONS, ZERO, exponential

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Attention = Callable[[Floats, Floats, Floats, Places, Places, Places, Floats], None]

BLOCK = 16
"""Positions in a block: keys [blocks, kv_heads, head_dim, BLOCK], values [blocks, kv_heads, BLOCK, head_dim]."""
_AT_ONCE = 8
"""Terms that are added up before a sum is written to memory."""


@cache
def attention(heads: int, kv_heads: int, width: int) -> Attention:
    """Return a compiled function: attention for these numbers of heads, each `width` wide.

    Its arguments are: queries [N, heads · width or more columns]; one layer's keys and values; the table [slots, blocks
    of a slot] of the block numbers of each slot; the slot and the position of each row [N], which sees all positions up
    to its own; and the array [N, heads · width] for the result.
    """
    group = heads // kv_heads

    @njit(**OPTIONS)
    def attend(
        qkv: Floats, keys: Floats, values: Floats, table: Places, slots: Places, positions: Places, mixed: Floats
    ) -> None:
        most = positions.max() // BLOCK * BLOCK + BLOCK
        scores, powers = np.empty((heads, most), np.float32), np.empty(most, np.int32)
        query, sums = np.empty((heads, width), np.float32), np.empty((heads, width), np.float32)
        masses = np.empty(heads, np.float32)
        for row in range(len(positions)):
            own, seen = table[slots[row]], positions[row] + 1
            whole, rest = seen // BLOCK, seen % BLOCK
            for head in range(heads):
                for place in range(width):
                    query[head, place], sums[head, place] = qkv[row, head * width + place], ZERO
            for block in range(whole + (rest > 0)):
                for head in range(heads):
                    _compare(query[head], keys[own[block], head // group], width,
                             scores[head, block * BLOCK:block * BLOCK + BLOCK])
            for head in range(heads):
                masses[head] = _exponentials(scores[head], powers, seen)
            for block in range(whole):
                for head in range(heads):
                    _mix(scores[head, block * BLOCK:block * BLOCK + BLOCK], values[own[block], head // group], width,
                         sums[head])
            for place in range(rest):
                for head in range(heads):
                    _add(scores[head, whole * BLOCK + place], values[own[whole], head // group, place], width,
                         sums[head])
            for head in range(heads):
                for place in range(width):
                    mixed[row, head * width + place] = sums[head, place] / masses[head]

    compiled: Attention = attend
    return compiled


@njit(**INLINED)
def _compare(query: Floats, keys: Floats, width: int, scores: Floats) -> None:
    """Write the product of `query` [width] with each column of `keys` [width, BLOCK] to `scores` [BLOCK]."""
    for position in range(BLOCK):
        scores[position] = ZERO
    whole = width - width % _AT_ONCE
    for part in range(0, whole, _AT_ONCE):
        a, b, c, d = query[part], query[part + 1], query[part + 2], query[part + 3]
        e, f, g, h = query[part + 4], query[part + 5], query[part + 6], query[part + 7]
        one, two, three, four = keys[part], keys[part + 1], keys[part + 2], keys[part + 3]
        five, six, seven, eight = keys[part + 4], keys[part + 5], keys[part + 6], keys[part + 7]
        for position in range(BLOCK):
            scores[position] += (
                (a * one[position] + b * two[position]) + (c * three[position] + d * four[position])) + (
                (e * five[position] + f * six[position]) + (g * seven[position] + h * eight[position]))
    for part in range(whole, width):
        for position in range(BLOCK):
            scores[position] += query[part] * keys[part, position]


@njit(**INLINED)
def _exponentials(scores: Floats, powers: NDArray[np.int32], seen: int) -> np.float32:
    """Replace the first `seen` scores by e^(score - largest) and return their sum."""
    largest = scores[0]
    for position in range(seen):
        largest = max(largest, scores[position])
    for position in range(seen):
        scores[position], powers[position] = exponential(scores[position] - largest)
    mass, scales = ZERO, powers.view(np.float32)
    for position in range(seen):
        scores[position] *= scales[position]
        mass += scores[position]
    return mass


@njit(**INLINED)
def _mix(shares: Floats, values: Floats, width: int, sums: Floats) -> None:
    """Add each row of `values` [BLOCK, width], times its share, to `sums` [width]."""
    for first in range(0, BLOCK, _AT_ONCE):
        a, b, c, d = shares[first], shares[first + 1], shares[first + 2], shares[first + 3]
        e, f, g, h = shares[first + 4], shares[first + 5], shares[first + 6], shares[first + 7]
        one, two, three, four = values[first], values[first + 1], values[first + 2], values[first + 3]
        five, six, seven, eight = values[first + 4], values[first + 5], values[first + 6], values[first + 7]
        for place in range(width):
            sums[place] += ((a * one[place] + b * two[place]) + (c * three[place] + d * four[place])) + (
                (e * five[place] + f * six[place]) + (g * seven[place] + h * eight[place]))


@njit(**INLINED)
def _add(share: np.float32, value: Floats, width: int, sums: Floats) -> None:
    for place in range(width):
        sums[place] += share * value[place]
