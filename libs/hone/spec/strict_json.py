"""Reads JSON that every reader understands alike: no key twice, no NaN, no number or nesting beyond all bounds."""

import json
import math
from collections import Counter
from typing import Any

_MOST_DIGITS = 4000
"""Digits of an int. Python refuses to convert many more."""
_LONGEST_KEY = 60


class Ambiguous(ValueError):
    """The text is JSON, or nearly, but readers disagree on what it means. Says what was found and what is expected."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")
        self.found, self.expected = found, expected


class RepeatedKey(Ambiguous):
    """An object of the text has a key twice. Holds the key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key[:_LONGEST_KEY]!a} twice", "each key of an object once")
        self.key = key


def read(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises json.JSONDecodeError or UnicodeDecodeError for a text that is no JSON, and Ambiguous.
    """
    try:
        return json.loads(text, object_pairs_hook=distinct, parse_constant=refused, parse_int=_integer)
    except RecursionError:
        raise Ambiguous("values nested too deep to be read", "fewer levels") from None


def number(value: object) -> float | None:
    """Return a number of JSON, infinite where it is a whole one beyond all floats; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value > 0 or -1)


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these keys and values. Raises RepeatedKey."""
    made = dict(pairs)
    if len(made) < len(pairs):
        counted = Counter(key for key, _ in pairs)
        raise RepeatedKey(next(key for key, times in counted.items() if times > 1))
    return made


def refused(name: str) -> float:
    """Refuse NaN and the infinities, which Python reads. Raises Ambiguous."""
    raise Ambiguous(name, "a finite number")


def _integer(literal: str) -> int:
    if len(literal) > _MOST_DIGITS:
        raise Ambiguous(f"a number of {len(literal)} digits", f"at most {_MOST_DIGITS}")
    return int(literal)
