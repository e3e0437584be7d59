"""Reads the JSON of rows. Their numbers are kept as their writer wrote them, because graders compare texts."""

import json
import re
from collections.abc import Iterator
from typing import Any

from hone.spec import strict_json

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_MOST_DIGITS = 4000
"""Digits of an int. Python refuses to convert many more."""


class Literal(str):
    """The characters of a number that would be written back with others: 0.10, 1e-7, 0.1234567890123456789, -0."""


def read(text: str | bytes, strict: bool = False) -> Any:
    """Return the value of a JSON text, with numbers that a grader's template renders with the characters of the text.

    A number becomes an int or a float where Python and PostgreSQL write it back with these characters, else a Literal.
    Raises ValueError for a text that is no JSON, and strict_json.RepeatedKey. `strict`: NaN and Infinity are no JSON.
    """
    return json.loads(text, parse_int=_integer, parse_float=_decimal, object_pairs_hook=strict_json.distinct,
                      parse_constant=strict_json.refused if strict else None)


def literals(value: Any) -> Iterator[Literal]:
    """Yield each number of a read value that is kept as its text."""
    if isinstance(value, Literal):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from literals(inner)


def plain(value: Any) -> Any:
    """Return a read value with ints and floats alone, as any JSON reader would read it."""
    if isinstance(value, Literal):
        return json.loads(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def number(value: object) -> float | None:
    """Return a number of a row, also one that was kept as its text; None for anything else. Infinite beyond floats."""
    if isinstance(value, str) and _NUMBER.fullmatch(value) and isinstance(read(value), Literal):
        return float(value)
    return strict_json.number(value)


def _integer(literal: str) -> int | Literal:
    if len(literal) > _MOST_DIGITS or str(value := int(literal)) != literal:
        return Literal(literal)
    return value


def _decimal(literal: str) -> float | Literal:
    value = float(literal)
    return value if repr(value) == literal and "e" not in literal else Literal(literal)  # jsonb writes no exponents
