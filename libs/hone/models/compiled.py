"""Numba options for loops over rows, and functions that these loops call: e^x and RMS norms."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

OPTIONS: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},  # sums in vectors; NaN and infinity keep their meaning
}
INLINED: dict[str, Any] = {**OPTIONS, "inline": "always"}
"""Options of functions that loops call. Without inlining, a loop that this process compiles and a loop from the cache
add in different orders: the first process after an installation would differ in bits from all later ones."""

ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
SMALLEST = np.float32(-87)
"""The smallest x for which e^x is a normal number."""

_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)  # of a float32: bias of the exponent, number of mantissa bits
_C2, _C3, _C4, _C5, _C6 = (np.float32(1 / factor) for factor in (2, 6, 24, 120, 720))


@njit(**INLINED)
def exponential(x: np.float32) -> tuple[np.float32, np.int32]:
    """Return e^x for x of at most 0 as (f, b): f times the float32 whose bits are b. Below -87 it is e^-87.

    The caller fills arrays of both and multiplies them in a second loop. These loops are vectorized; a loop in which a
    scalar is reinterpreted as float32 is not.
    """
    exponent = max(x, SMALLEST)
    whole = np.floor(exponent * _LOG2_E + HALF)
    rest = exponent - whole * _LN_2
    series = _C2 + rest * (_C3 + rest * (_C4 + rest * (_C5 + rest * _C6)))
    return ONE + rest * (ONE + rest * series), (np.int32(whole) + _BIAS) << _MANTISSA


@njit(**INLINED)
def norm_scale(row: NDArray[np.float32], size: int, epsilon: np.float32) -> np.float32:
    """Return 1 / sqrt(mean(row^2) + epsilon); row [size]."""
    total = ZERO
    for place in range(size):
        total += row[place] * row[place]
    return np.float32(ONE / np.sqrt(total / np.float32(size) + epsilon))
