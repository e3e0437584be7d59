"""The decoder's steps between its matrix products, one row at a time, compiled for this machine by numba.

As tensor operations these steps would read and write each row a dozen times, and for few rows they would cost more than
the products. Here each step is one pass; attention has its own file. The bits of a row depend only on that row. All
arithmetic is float32.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hone.models.compiled import INLINED, ONE, OPTIONS, SMALLEST, ZERO, exponential, norm_scale

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

_BLOCK = 256
"""Ids whose probabilities are added up at once in the search for the drawn id."""


@njit(**OPTIONS)
def normalize(rows: Floats, epsilon: np.float32, out: Floats) -> None:
    """Divide each of `rows` [N, width] by the root of its mean square, into `out`."""
    width = rows.shape[1]
    for row in range(len(rows)):
        factor = norm_scale(rows[row], width, epsilon)
        for place in range(width):
            out[row, place] = rows[row, place] * factor


@njit(**OPTIONS)
def cache_rows(
    qkv: Floats, head_norm: Floats, rotations: Floats, blocks: Places, positions: Places, epsilon: np.float32,
    keys: Floats, values: Floats,
) -> None:
    """Norm and rotate the queries and keys of `qkv` in place, and write keys and values into the cache.

    `qkv` [N, queries + 2 keys]; `head_norm` [heads + kv_heads, head_dim], or no rows without such a norm; `rotations`
    [2, positions, head_dim / 2] are cosines and sines; `blocks` [N] are the cache blocks of the tokens' `positions`
    [N]; `keys` [blocks, kv_heads, head_dim, block] and `values` [blocks, kv_heads, block, head_dim] of one layer.
    """
    kv_heads, width, size = keys.shape[1], keys.shape[2], keys.shape[3]
    heads = qkv.shape[1] // width - 2 * kv_heads
    for row in range(len(blocks)):
        block, position = blocks[row], positions[row]
        column = position % size
        for head in range(heads + kv_heads):
            entry = qkv[row, head * width:(head + 1) * width]
            if len(head_norm):
                factor = norm_scale(entry, width, epsilon)
                for place in range(width):
                    entry[place] *= factor * head_norm[head, place]
            _rotate(entry, rotations[0, position], rotations[1, position])
            if head >= heads:
                for place in range(width):
                    keys[block, head - heads, place, column] = entry[place]
        for head in range(kv_heads):
            start = (heads + kv_heads + head) * width
            for place in range(width):
                values[block, head, column, place] = qkv[row, start + place]


@njit(**OPTIONS)
def copy_blocks(entries: Floats, sources: Places, targets: Places) -> None:
    """Copy block `sources[n]` to block `targets[n]`, for every n, in `entries` [blocks, ...] of one layer."""
    for place in range(len(sources)):
        entries[targets[place]] = entries[sources[place]]


@njit(**OPTIONS)
def draw(logits: Floats, places: Places, uniforms: Floats, temperatures: Floats, ids: Places, logp: Floats) -> None:
    """Draw an id from row `places[n]` of `logits` [rows, vocabulary] with the number `uniforms[n]`, for every n.

    Logits are divided by `temperatures` [N] first. At temperature 0 the likeliest id is taken. Writes `ids` [N] and
    their `logp` [N] under the distribution drawn from; at temperature 0, under the plain softmax.
    """
    width = logits.shape[1]
    shares, powers = np.empty(width, np.float32), np.empty(width, np.int32)
    for number in range(len(places)):
        row, greedy = logits[places[number]], temperatures[number] == ZERO
        largest, likeliest = row[0], 0
        for place in range(width):
            largest = max(largest, row[place])
        total = _exponentials(row, largest, ONE if greedy else ONE / temperatures[number], shares, powers)
        if greedy:
            while row[likeliest] < largest:
                likeliest += 1
        chosen = likeliest if greedy else _index_at(shares, np.float64(uniforms[number]) * total)
        ids[number], logp[number] = chosen, np.float32(np.log(shares[chosen] / total))


@njit(**OPTIONS)
def cut(shares: Floats, top_p: Floats, top_k: Places) -> None:
    """Keep in each row of `shares` [rows, vocabulary] the likeliest `top_k` ids (0: all), and of them the fewest with
    mass `top_p`. Set the others to 0 and scale the row to sum 1.

    Of equally likely ids the lower is kept first. Only candidates are sorted: an id whose probability is below an equal
    part of the mass that is cut off is never kept.
    """
    width = shares.shape[1]
    for row in range(len(shares)):
        own, most = shares[row], top_k[row] if 0 < top_k[row] < width else width
        floor = (ONE - top_p[row]) / np.float32(width) * np.float32(0.999)
        if most < width:
            floor = np.partition(own, width - most)[width - most]
        candidates = np.flatnonzero(own >= floor)
        ranked = candidates[np.argsort(-own[candidates], kind="mergesort")][:most]
        likely = own[ranked]
        mass, before, count = 0.0, 0.0, 0
        for share in likely if most < width else own:
            mass += share
        while count < len(ranked) and before < top_p[row] * mass:
            before += likely[count]
            count += 1
        own[:] = ZERO
        for place in range(count):
            own[ranked[place]] = likely[place] / np.float32(before)


@njit(**INLINED)
def _rotate(entry: Floats, cosines: Floats, sines: Floats) -> None:
    half = len(cosines)
    for place in range(half):
        left, right = entry[place], entry[place + half]
        entry[place] = left * cosines[place] - right * sines[place]
        entry[place + half] = right * cosines[place] + left * sines[place]


@njit(**INLINED)
def _exponentials(
    row: Floats, largest: np.float32, factor: np.float32, shares: Floats, powers: NDArray[np.int32]
) -> np.float64:
    """Write e^((x - largest) · factor) for each x of `row` to `shares`, 0 if it is negligible, and return their sum."""
    for place in range(len(row)):
        shares[place], powers[place] = exponential((row[place] - largest) * factor)
    scales, total = powers.view(np.float32), np.float64(0)
    for place in range(len(row)):
        shares[place] = shares[place] * scales[place] if (row[place] - largest) * factor > SMALLEST else ZERO
    for place in range(len(row)):
        total += shares[place]
    return total


@njit(**INLINED)
def _index_at(shares: Floats, point: np.float64) -> int:
    """Return the first index up to which `shares` sum to more than `point`, which is below the whole sum.

    Whole blocks are skipped by their sums. If a block's sum exceeds the point only by rounding, the result is the last
    index of the block whose share is not 0.
    """
    below, start, last = 0.0, 0, 0
    while start < len(shares):
        mass = 0.0
        for place in range(start, min(start + _BLOCK, len(shares))):
            mass += shares[place]
        if below + mass > point:
            break
        below += mass
        start += _BLOCK
    for place in range(start, min(start + _BLOCK, len(shares))):
        below += shares[place]
        if shares[place] > ZERO:
            last = place
            if below > point:
                break
    return last
