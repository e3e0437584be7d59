"""How loops over rows are compiled for this machine by numba, and e^x in a form that such loops can take."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

OPTIONS: dict[str, Any] = {
    "cache": True, "nogil": True, "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},  # sums in vectors; NaN and infinity keep their meaning
}
INLINED: dict[str, Any] = {**OPTIONS, "inline": "always"}
"""Of what loops call. A called function would be part of a loop as it is compiled and not as the cache has it, with
sums in another order: the first process after an installation would differ in bits from all later ones."""

ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
SMALLEST = np.float32(-87)
"""e^x is a normal number from here on."""

_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)  # of a float32's exponent, and how far left it stands
_C2, _C3, _C4, _C5, _C6 = (np.float32(1 / factor) for factor in (2, 6, 24, 120, 720))


@njit(**INLINED)
def exponential(x: np.float32) -> tuple[np.float32, np.int32]:
    """Return e^x for x of at most 0 as (f, b): f times the float32 whose bits are b. Below -87 it is e^-87.

    Two loops over arrays, one that fills both and one that multiplies, run in vectors; a reinterpreted scalar does not.
    """
    exponent = max(x, SMALLEST)
    whole = np.floor(exponent * _LOG2_E + HALF)
    rest = exponent - whole * _LN_2
    series = _C2 + rest * (_C3 + rest * (_C4 + rest * (_C5 + rest * _C6)))
    return ONE + rest * (ONE + rest * series), (np.int32(whole) + _BIAS) << _MANTISSA


@njit(**INLINED)
def norm_scale(row: NDArray[np.float32], size: int, epsilon: np.float32) -> np.float32:
    """Return one over the root of a row's mean square, `epsilon` added; row [size]."""
    total = ZERO
    for place in range(size):
        total += row[place] * row[place]
    return np.float32(ONE / np.sqrt(total / np.float32(size) + epsilon))
