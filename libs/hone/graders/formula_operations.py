"""The operations of formulas: what each gives for numbers, and in which interval that is for intervals."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, starmap

from hone.graders.contract import Bounds

EVERYTHING: Bounds = (-math.inf, math.inf)
_SLACK = 1e-15
"""Share of a value: a few roundings."""


@dataclass(frozen=True)
class Operation:
    """An operator or a function. `value` may raise ArithmeticError and ValueError; `single`: it takes one value."""

    name: str
    value: Callable[[Sequence[float]], float]
    bounds: Callable[[Sequence[Bounds]], Bounds]
    single: bool = False


def _around(values: Iterable[float]) -> Bounds:
    found = list(values)
    return EVERYTHING if any(map(math.isnan, found)) else (min(found), max(found))


def _beyond(operation: Callable[..., float], *values: float) -> float:
    """Return the value; infinity where it is too large, NaN where there is none."""
    try:
        result = operation(*values)
    except OverflowError:
        return math.inf
    except (ArithmeticError, ValueError):
        return math.nan
    return math.nan if isinstance(result, complex) else result


def _rounded(bounds: Callable[[Sequence[Bounds]], Bounds]) -> Callable[[Sequence[Bounds]], Bounds]:
    """Return the bounds a little wider: exp, log and powers are rounded otherwise inside an interval than at its ends.
    """
    def wider(of: Sequence[Bounds]) -> Bounds:
        low, high = bounds(of)
        return low - _SLACK * abs(low), high + _SLACK * abs(high)
    return wider


def _rising(operation: Callable[[float], float]) -> Callable[[Sequence[Bounds]], Bounds]:
    """Return the interval's image by an operation that never falls."""
    return lambda of: _around(_beyond(operation, end) for end in of[0])


def _add(of: Sequence[Bounds]) -> Bounds:
    (low, high), (least, most) = of
    return low + least, high + most


def _subtract(of: Sequence[Bounds]) -> Bounds:
    (low, high), (least, most) = of
    return low - most, high - least


def _multiply(of: Sequence[Bounds]) -> Bounds:
    return _around(0.0 if 0 in pair else pair[0] * pair[1] for pair in product(*of))


def _divide(of: Sequence[Bounds]) -> Bounds:
    divided, (least, most) = of
    if least <= 0 <= most:
        return EVERYTHING
    return _around(starmap(lambda above, below: above / below, product(divided, (least, most))))


def _power(of: Sequence[Bounds]) -> Bounds:
    """Return the corners' interval for a base of one sign, and for a base of any sign with one whole exponent."""
    (low, high), (least, most) = of
    constant = least == most and float(least).is_integer()
    if (least < 0 and low <= 0 <= high) or (low < 0 and not constant):
        return EVERYTHING
    found = [_beyond_power(base, exponent) for base, exponent in product(*of)]
    return _around([*found, 0.0] if low < 0 < high else found)


def _beyond_power(base: float, exponent: float) -> float:
    value = _beyond(math.pow, base, exponent)
    return -math.inf if value == math.inf and base < 0 and exponent % 2 == 1 else value


def _absolute(of: Sequence[Bounds]) -> Bounds:
    low, high = of[0]
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _logarithm(of: Sequence[Bounds]) -> Bounds:
    low, high = of[0]
    if high <= 0:
        return EVERYTHING
    return (math.log(low) if low > 0 else -math.inf), math.log(high) if math.isfinite(high) else math.inf


def _root(of: Sequence[Bounds]) -> Bounds:
    low, high = (math.sqrt(max(0.0, end)) for end in of[0])
    return low, high


def _whole(operation: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(operation(value)) if math.isfinite(value) else value


def _of_one(name: str, value: Callable[[float], float], bounds: Callable[[Sequence[Bounds]], Bounds]) -> Operation:
    return Operation(name, lambda values: value(values[0]), bounds, single=True)


def _ends(choose: Callable[[Iterable[float]], float]) -> Callable[[Sequence[Bounds]], Bounds]:
    return lambda of: (choose(low for low, _ in of), choose(high for _, high in of))


NEGATIVE = _of_one("-", lambda value: -value, lambda of: (-of[0][1], -of[0][0]))
OPERATORS: Mapping[str, Operation] = {
    "+": Operation("+", lambda of: of[0] + of[1], _add),
    "-": Operation("-", lambda of: of[0] - of[1], _subtract),
    "*": Operation("*", lambda of: of[0] * of[1], _multiply),
    "/": Operation("/", lambda of: of[0] / of[1], _divide),
    "^": Operation("^", lambda of: math.pow(of[0], of[1]), _rounded(_power)),
}
FUNCTIONS: Mapping[str, Operation] = {
    "min": Operation("min", min, _ends(min)),
    "max": Operation("max", max, _ends(max)),
    "abs": _of_one("abs", abs, _absolute),
    "floor": _of_one("floor", _whole(math.floor), _rising(_whole(math.floor))),
    "ceil": _of_one("ceil", _whole(math.ceil), _rising(_whole(math.ceil))),
    "exp": _of_one("exp", math.exp, _rounded(_rising(math.exp))),
    "sqrt": _of_one("sqrt", math.sqrt, _root),
    "log": _of_one("log", math.log, _rounded(_logarithm)),
}
