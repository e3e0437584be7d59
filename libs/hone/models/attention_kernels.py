"""Attention over spans of flat tokens and its gradient, compiled for this machine, without gathering or padding.

A span is (start, length, first, before). Each of its `length` tokens from `start` on attends to its context, the tokens
`behind[first:first + before]`, and to the span's tokens up to itself. Four tokens are computed at a time, which read
their context once. The order of a sum does not depend on other spans in the arrays. All numbers are float32. A head's
width is a constant of the compiled code.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hone.models.compiled import INLINED, OPTIONS, ZERO, exponential

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Attend = Callable[..., None]

_ROWS = 4
"""Number of tokens that are computed at a time, and of dimensions that are added at a time."""


@cache
def attention(width: int) -> Attend:
    """Return attention for heads of this width.

    Its arguments are queries [N, H, width], keys and values [N, K, width], spans [P, 4], their contexts `behind` [S],
    and two arrays for the results: the outputs [N, H, width], and the log of the sum of e^score [N, H].
    """
    whole, scale = width + -width % _ROWS, np.float32(width ** -0.5)

    @njit(**OPTIONS)
    def attend(
        query: Floats, key: Floats, value: Floats, spans: Places, behind: Places, out: Floats, logs: Floats
    ) -> None:
        most, group = (spans[:, 1] + spans[:, 3]).max(), query.shape[1] // key.shape[1]
        keys, values = np.zeros((whole, most), np.float32), np.empty((most, width), np.float32)
        asked, scores = np.zeros((_ROWS, whole), np.float32), np.empty((_ROWS, most), np.float32)
        mixed, powers = np.empty((_ROWS, width), np.float32), np.empty(most, np.int32)
        for span in range(len(spans)):
            start, length, before = spans[span, 0], spans[span, 1], spans[span, 3]
            for own in range(key.shape[1]):
                _stand(key, own, spans[span], behind, width, keys)
                _lie(value, own, spans[span], behind, width, values)
                for head in range(own * group, (own + 1) * group):
                    for first in range(0, length, _ROWS):
                        count, seen = min(_ROWS, length - first), before + min(first + _ROWS, length)
                        _take(query, head, start + first, count, width, scale, asked)
                        _products(asked, keys, whole, seen, scores)
                        for row in range(count):
                            logs[start + first + row, head] = _exponentials(
                                scores[row], powers, before + first + row + 1, seen)
                        _mix(scores, values, width, seen, mixed)
                        for row in range(count):
                            for place in range(width):
                                out[start + first + row, head, place] = mixed[row, place]

    compiled: Attend = attend
    return compiled


@cache
def attention_gradient(width: int) -> Attend:
    """Return the gradient of `attention` for heads of this width.

    Its arguments are the gradient of the outputs, the arguments of `attention` with its results, and three arrays: it
    writes the gradient of the queries, and adds the gradients of keys and values.
    """
    whole, scale = width + -width % _ROWS, np.float32(width ** -0.5)

    @njit(**OPTIONS)
    def attend_gradient(
        gradient: Floats, query: Floats, key: Floats, value: Floats, spans: Places, behind: Places, out: Floats,
        logs: Floats, for_query: Floats, for_key: Floats, for_value: Floats,
    ) -> None:
        most, group = (spans[:, 1] + spans[:, 3]).max(), query.shape[1] // key.shape[1]
        keys, values = np.zeros((whole, most), np.float32), np.zeros((whole, most), np.float32)
        lying, for_keys, for_values = (np.empty((most, width), np.float32), np.empty((most, width), np.float32),
                                       np.empty((most, width), np.float32))
        asked, given = np.zeros((_ROWS, whole), np.float32), np.zeros((_ROWS, whole), np.float32)
        scores, slopes = np.empty((_ROWS, most), np.float32), np.empty((_ROWS, most), np.float32)
        back, powers = np.empty((_ROWS, width), np.float32), np.empty(most, np.int32)
        for span in range(len(spans)):
            start, length, before = spans[span, 0], spans[span, 1], spans[span, 3]
            for own in range(key.shape[1]):
                _stand(key, own, spans[span], behind, width, keys)
                _stand(value, own, spans[span], behind, width, values)
                _lie(key, own, spans[span], behind, width, lying)
                for_keys[:before + length] = ZERO
                for_values[:before + length] = ZERO
                for head in range(own * group, (own + 1) * group):
                    for first in range(0, length, _ROWS):
                        count, seen = min(_ROWS, length - first), before + min(first + _ROWS, length)
                        _take(query, head, start + first, count, width, scale, asked)
                        _take(gradient, head, start + first, count, width, np.float32(1), given)
                        _products(asked, keys, whole, seen, scores)
                        _products(given, values, whole, seen, slopes)
                        for row in range(_ROWS):
                            token = start + first + min(row, count - 1)
                            _slopes(scores[row], slopes[row], powers, logs[token, head],
                                    _dot(gradient[token, head], out[token, head], width),
                                    before + first + row + 1 if row < count else 0, seen)
                        _mix(slopes, lying, width, seen, back)
                        for row in range(count):
                            for place in range(width):
                                for_query[start + first + row, head, place] = back[row, place] * scale
                        _spread(slopes, asked, width, seen, for_keys)
                        _spread(scores, given, width, seen, for_values)
                _give(for_keys, own, spans[span], behind, width, for_key)
                _give(for_values, own, spans[span], behind, width, for_value)

    compiled: Attend = attend_gradient
    return compiled


@njit(**INLINED)
def _stand(entries: Floats, head: int, span: Places, behind: Places, width: int, columns: Floats) -> None:
    """Write the entries of a head that a span sees to `columns` [width, seen]."""
    start, length, first, before = span
    for place in range(before):
        for part in range(width):
            columns[part, place] = entries[behind[first + place], head, part]
    for place in range(length):
        for part in range(width):
            columns[part, before + place] = entries[start + place, head, part]


@njit(**INLINED)
def _lie(entries: Floats, head: int, span: Places, behind: Places, width: int, rows: Floats) -> None:
    """Write the entries of a head that a span sees to `rows` [seen, width]."""
    start, length, first, before = span
    for place in range(before):
        for part in range(width):
            rows[place, part] = entries[behind[first + place], head, part]
    for place in range(length):
        for part in range(width):
            rows[before + place, part] = entries[start + place, head, part]


@njit(**INLINED)
def _give(rows: Floats, head: int, span: Places, behind: Places, width: int, entries: Floats) -> None:
    """Add `rows` [seen, width] to the entries of a head that a span sees."""
    start, length, first, before = span
    for place in range(before):
        for part in range(width):
            entries[behind[first + place], head, part] += rows[place, part]
    for place in range(length):
        for part in range(width):
            entries[start + place, head, part] += rows[before + place, part]


@njit(**INLINED)
def _take(entries: Floats, head: int, first: int, count: int, width: int, scale: np.float32, rows: Floats) -> None:
    """Write `count` tokens of a head, multiplied by `scale`, to `rows` [4, width], and 0 to the remaining rows."""
    for row in range(count):
        for part in range(width):
            rows[row, part] = entries[first + row, head, part] * scale
    for row in range(count, _ROWS):
        for part in range(width):
            rows[row, part] = ZERO


@njit(**INLINED)
def _four(entries: Floats, row: int, place: int) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    return entries[row, place], entries[row, place + 1], entries[row, place + 2], entries[row, place + 3]


@njit(**INLINED)
def _products(rows: Floats, columns: Floats, width: int, seen: int, out: Floats) -> None:
    """Write rows [4, width] · columns [width, seen] to `out` [4, seen]; the width is a multiple of four."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    for row in range(_ROWS):
        for place in range(seen):
            out[row, place] = ZERO
    for part in range(0, width, _ROWS):
        a, b, c, d = _four(rows, 0, part), _four(rows, 1, part), _four(rows, 2, part), _four(rows, 3, part)
        one, two, three, four = columns[part], columns[part + 1], columns[part + 2], columns[part + 3]
        for place in range(seen):
            w, x, y, z = one[place], two[place], three[place], four[place]
            first[place] += a[0] * w + a[1] * x + a[2] * y + a[3] * z
            second[place] += b[0] * w + b[1] * x + b[2] * y + b[3] * z
            third[place] += c[0] * w + c[1] * x + c[2] * y + c[3] * z
            fourth[place] += d[0] * w + d[1] * x + d[2] * y + d[3] * z


@njit(**INLINED)
def _mix(shares: Floats, rows: Floats, width: int, seen: int, out: Floats) -> None:
    """Write shares [4, seen] · rows [seen, width] to `out` [4, width]."""
    first, second, third, fourth = out[0], out[1], out[2], out[3]
    whole = seen - seen % _ROWS
    for row in range(_ROWS):
        for part in range(width):
            out[row, part] = ZERO
    for place in range(0, whole, _ROWS):
        a, b, c, d = _four(shares, 0, place), _four(shares, 1, place), _four(shares, 2, place), _four(shares, 3, place)
        one, two, three, four = rows[place], rows[place + 1], rows[place + 2], rows[place + 3]
        for part in range(width):
            w, x, y, z = one[part], two[part], three[part], four[part]
            first[part] += a[0] * w + a[1] * x + a[2] * y + a[3] * z
            second[part] += b[0] * w + b[1] * x + b[2] * y + b[3] * z
            third[part] += c[0] * w + c[1] * x + c[2] * y + c[3] * z
            fourth[part] += d[0] * w + d[1] * x + d[2] * y + d[3] * z
    for place in range(whole, seen):
        for row in range(_ROWS):
            for part in range(width):
                out[row, part] += shares[row, place] * rows[place, part]


@njit(**INLINED)
def _spread(shares: Floats, rows: Floats, width: int, seen: int, out: Floats) -> None:
    """Add the transpose of shares [4, seen] times rows [4, width] to `out` [seen, width]."""
    one, two, three, four = rows[0], rows[1], rows[2], rows[3]
    whole = seen - seen % _ROWS
    for place in range(0, whole, _ROWS):
        a, b, c, d = _four(shares, 0, place), _four(shares, 1, place), _four(shares, 2, place), _four(shares, 3, place)
        first, second, third, fourth = out[place], out[place + 1], out[place + 2], out[place + 3]
        for part in range(width):
            w, x, y, z = one[part], two[part], three[part], four[part]
            first[part] += a[0] * w + b[0] * x + c[0] * y + d[0] * z
            second[part] += a[1] * w + b[1] * x + c[1] * y + d[1] * z
            third[part] += a[2] * w + b[2] * x + c[2] * y + d[2] * z
            fourth[part] += a[3] * w + b[3] * x + c[3] * y + d[3] * z
    for place in range(whole, seen):
        for row in range(_ROWS):
            for part in range(width):
                out[place, part] += shares[row, place] * rows[row, part]


@njit(**INLINED)
def _exponentials(scores: Floats, powers: NDArray[np.int32], seen: int, whole: int) -> np.float32:
    """Turn the first `seen` scores into their softmax, the others up to `whole` into 0; return log(sum(e^score))."""
    largest, mass = scores[0], ZERO
    for place in range(seen):
        largest = max(largest, scores[place])
    for place in range(seen):
        scores[place], powers[place] = exponential(scores[place] - largest)
    factors = powers.view(np.float32)
    for place in range(seen):
        scores[place] *= factors[place]
        mass += scores[place]
    share = np.float32(1) / mass
    for place in range(seen):
        scores[place] *= share
    for place in range(seen, whole):
        scores[place] = ZERO
    return np.float32(largest + np.log(mass))


@njit(**INLINED)
def _slopes(scores: Floats, slopes: Floats, powers: NDArray[np.int32], log: np.float32, mean: np.float32, seen: int,
            whole: int) -> None:
    """Turn scores into their softmax and its gradient into the gradient of scores; both are 0 from `seen` on."""
    for place in range(seen):
        scores[place], powers[place] = exponential(min(scores[place] - log, ZERO))
    factors = powers.view(np.float32)
    for place in range(seen):
        scores[place] *= factors[place]
        slopes[place] = scores[place] * (slopes[place] - mean)
    for place in range(seen, whole):
        scores[place] = slopes[place] = ZERO


@njit(**INLINED)
def _dot(left: Floats, right: Floats, width: int) -> np.float32:
    total = ZERO
    for part in range(width):
        total += left[part] * right[part]
    return total
