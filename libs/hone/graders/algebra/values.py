"""Expressions: reads them with sympy, and compares them exactly, or to a number of places where one is a decimal."""

import re
from functools import lru_cache
from typing import Any

_DECIMAL = re.compile(r"(?<![0-9])([0-9]*)\.([0-9]+)")
_REPEATING = re.compile(r"([0-9]*)\.([0-9]*)\\(?:overline|bar|dot)\{?([0-9]+)\}?")
_IN_ANOTHER_BASE = re.compile(r"(-?)([0-9]+)_\{([0-9]{1,2})\}")
_JUXTAPOSED = re.compile(r"(?<![0-9_{^])([0-9]+)\s*(?=\()|(?<=\))\s*(?=[0-9(])")
_TWO_NUMBERS = re.compile(r"[0-9]\s+[0-9]")
_LETTER_IN_TEXT = re.compile(r"\\text\{\s*([A-Za-z])\s*\}")
_COMPLEX = re.compile(r"(?<![A-Za-z\\])i(?![A-Za-z])|\\(?:imath|det|arg|Re|Im)\b")
_DEGREES = re.compile(r"((?>[0-9]+)(?:\.[0-9]+)?|[a-z])\^\{\\circ\}")
_ELLIPSIS = re.compile(r"(\.[0-9]+)\s*\\ldots\s*$")
_MANY_SIGNS = re.compile(r"(?:[-+]\s*){4}")
_BRACKET = re.compile(r"[(\[{]|[)\]}]")
_POINTS = ((3, 7), (-5, 11), (13, 8), (-17, 6), (23, 9))
"""Numerator and denominator of the first value that stands in for a variable, at each place of comparison."""
DIGITS = 40
"""Digits with which values are computed."""
MAX_DIGITS = 2000
MAX_DEPTH = 12
"""Brackets inside brackets that are read. The parser takes seconds for more."""


class Unreadable(ValueError):
    """The text is not a mathematical expression."""


@lru_cache(maxsize=4096)
def expression(tex: str) -> Any:
    """Return a sympy expression. Decimals are exact fractions. Raises Unreadable."""
    from latex2sympy2_extended import latex2sympy
    from sympy import Expr, I

    if not _is_balanced(tex) or tex.count("|") > MAX_DEPTH or _MANY_SIGNS.search(tex):
        raise Unreadable(tex[:100])
    tex = _DEGREES.sub(r"(\\frac{\1\\cdot \\pi }{180})", tex)
    plain = _fractions(_in_base_ten(_LETTER_IN_TEXT.sub(r"\1", _ELLIPSIS.sub(r"\1", tex.strip()))))
    plain = _JUXTAPOSED.sub(lambda match: f"{match[1] or ''}\\cdot ", plain)
    if not plain or _TWO_NUMBERS.search(plain) or max(map(len, re.findall(r"[0-9]+", plain)), default=0) > MAX_DIGITS:
        raise Unreadable(tex)
    try:
        parsed = latex2sympy(
            plain, is_real=not _COMPLEX.search(plain), convert_degrees=False, normalization_config=None)
    except (Exception, RecursionError) as error:  # the parser raises bare exceptions
        raise Unreadable(tex) from error
    if not isinstance(parsed, Expr):
        raise Unreadable(tex)
    return parsed.subs({symbol: I for symbol in parsed.free_symbols if str(symbol) == "i"})


def _is_balanced(tex: str) -> bool:
    depth = 0
    for bracket in _BRACKET.finditer(tex):
        depth += 1 if bracket[0] in "([{" else -1
        if not 0 <= depth <= MAX_DEPTH:
            return False
    return depth == 0


def _in_base_ten(tex: str) -> str:
    match = _IN_ANOTHER_BASE.fullmatch(tex)
    if match is None or not 2 <= int(match[3]) <= 36:
        return tex
    try:
        return match[1] + str(int(match[2], int(match[3])))
    except ValueError:
        raise Unreadable(tex) from None


def _fractions(tex: str) -> str:
    def repeating(match: re.Match[str]) -> str:
        whole, fixed, again = match[1] or "0", match[2], match[3]
        under = 10 ** len(fixed) * (10 ** len(again) - 1)
        return rf"\frac{{{int(whole + fixed + again) - int(whole + fixed or '0')}}}{{{under}}}"

    def exact(match: re.Match[str]) -> str:
        return rf"\frac{{{int((match[1] or '0') + match[2])}}}{{{10 ** len(match[2])}}}"

    if max(map(len, re.findall(r"[0-9.]+", tex)), default=0) > MAX_DIGITS:
        raise Unreadable(tex[:100])
    return _DECIMAL.sub(exact, _REPEATING.sub(repeating, tex))


def has_decimals(tex: str) -> bool:
    """Return whether a number in the text is written as a decimal, which may be rounded."""
    return _DECIMAL.search(tex) is not None and r"\overline" not in tex


def same(wanted: Any, given: Any, places: int | None) -> bool:
    """Return whether two expressions are equal, for all values of their variables.

    They are compared exactly. With `places` a decimal may be rounded: unless one of the two is a whole number, they may
    differ by half a unit in that many decimal places, or in that many digits for a number below 0.1.
    """
    wanted, given = _evaluated(wanted), _evaluated(given)
    if wanted == given:
        return _is_finite_or_infinite(wanted)
    symbols = sorted(wanted.free_symbols | given.free_symbols, key=str)
    return all(_same_numbers(wanted.subs(point), given.subs(point), places) for point in _places(symbols))


def ratio_is_constant(wanted: Any, given: Any, positive: bool) -> bool:
    """Return whether wanted = c · given with a constant c, which is above 0 if `positive`."""
    wanted, given = _evaluated(wanted), _evaluated(given)
    symbols = sorted(wanted.free_symbols | given.free_symbols, key=str)
    found = None
    for point in _places(symbols):
        one, other = (_computed(side.subs(point)) for side in (wanted, given))
        if one is None or other is None or _is_zero(one) or _is_zero(other):
            return False
        ratio = one / other
        found = ratio if found is None else found
        if not _is_close(ratio, found) or (positive and not ratio > 0):
            return False
    return found is not None


def _evaluated(value: Any) -> Any:
    try:
        return value.doit()
    except (TypeError, ValueError, AttributeError, NotImplementedError, ArithmeticError) as error:
        raise Unreadable(str(type(value))) from error


def _is_finite_or_infinite(value: Any) -> bool:
    import sympy

    return not value.has(sympy.nan, sympy.zoo)


def _places(symbols: list[Any]) -> list[dict[Any, Any]]:
    from sympy import Rational

    if not symbols:
        return [{}]
    return [{symbol: Rational(over + 2 * index, under + index) for index, symbol in enumerate(symbols)}
            for over, under in _POINTS]


def _same_numbers(wanted: Any, given: Any, places: int | None) -> bool:
    import sympy

    if wanted.is_Rational and given.is_Rational and (places is None or wanted.is_Integer or given.is_Integer):
        return bool(wanted == given)
    one, other = _computed(wanted), _computed(given)
    if one is None or other is None:
        return bool(sympy.simplify(wanted - given) == 0)
    if _is_zero(one) or _is_zero(other):
        return _is_zero(one) and _is_zero(other)
    if _is_close(one, other):
        return True
    if places is None or wanted.is_integer or given.is_integer:
        return False
    unit = min(0, int(sympy.floor(sympy.log(abs(one), 10))) + 1) - places
    return bool(abs(one - other) <= sympy.Float(10, DIGITS) ** unit / 2)


def _computed(value: Any) -> Any:
    """Return a number with `DIGITS` digits, or None where the value cannot be computed to a finite one."""
    import sympy

    number = sympy.N(value, DIGITS)
    parts = number.as_real_imag()
    return number if all(part.is_Number and part.is_finite for part in parts) else None


def _is_close(one: Any, other: Any) -> bool:
    import sympy

    return bool(abs(one - other) <= abs(one) * sympy.Float(10, DIGITS) ** (8 - DIGITS))


def _is_zero(number: Any) -> bool:
    """Return whether a computed number is zero, or has no digit that is known."""
    size = abs(number)
    return bool(size == 0 or (size.is_Float and size._prec == 1))
