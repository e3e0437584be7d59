"""Users, merchants and strategies as rows of numbers: which columns there are, and how an object becomes a row."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hone.spec import strict_json
from hone.spec.problems import Invalid, Problem, found

Floats = NDArray[np.float64]
Value = float | str
Features = Mapping[str, Mapping[str, Value]]
"""Known facts of an exposure: `user`, `merchant` and `strategy`, each with numbers and words by name."""

PARTS = ("user", "merchant", "strategy")
MOST_COLUMNS, MOST_LEVELS = 200, 50
MOST_NUMBER = 1e30
"""Trees compare numbers of 32 bits."""


@dataclass(frozen=True)
class Columns:
    """Numbers stand in a column each, words in one column for each of their levels. Names read `user.age`,
    `merchant.category=cafe`.
    """

    numbers: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return (*self.numbers, *(f"{field}={level}" for field, known in self.levels.items() for level in known))

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the features that every exposure has."""
        return (*self.numbers, *self.levels)

    def encode(self, rows: Sequence[Features], at: str = "") -> Floats:
        """Return rows [N, F]. A word that no row of the fit had is in no column.

        Raises Invalid, with the field below `at`, for a feature that lacks or is of another type.
        """
        encoded = np.zeros((len(rows), len(self.names)))
        for place, row in enumerate(rows):
            encoded[place] = self._encoded(row, at)
        return encoded

    def _encoded(self, row: Features, at: str) -> list[float]:
        numbers = [_number(row, field, at) for field in self.numbers]
        words = [float(word == level) for field, known in self.levels.items()
                 for word in [_word(row, field, known, at)] for level in known]
        return [*numbers, *words]


def of_rows(rows: Sequence[Features]) -> Columns:
    """Return the columns of rows that all have the same features. Raises Invalid for too many."""
    kinds = {field: isinstance(_value(rows[0], field), str) for field in fields_of(rows[0])}
    levels = {field: tuple(sorted({str(_value(row, field)) for row in rows}))
              for field, is_word in kinds.items() if is_word}
    for field, known in levels.items():
        if len(known) > MOST_LEVELS:
            raise Invalid([Problem(field, f"{len(known)} different words", f"at most {MOST_LEVELS}")])
    made = Columns(tuple(field for field, is_word in kinds.items() if not is_word), levels)
    if len(made.names) > MOST_COLUMNS:
        raise Invalid([Problem("rows", f"{len(made.names)} columns", f"at most {MOST_COLUMNS}")])
    return made


def fields_of(row: Features) -> list[str]:
    """Return the names of a row's features, those of the user first."""
    return [f"{part}.{name}" for part in PARTS for name in sorted(row[part])]


def features(given: Mapping[str, Any], at: str, parts: Iterable[str] = PARTS) -> dict[str, dict[str, Value]]:
    """Return the features of JSON objects, true and false as 1 and 0. Raises Invalid with the field below `at`."""
    return {part: _part(given.get(part), f"{at}{part}") for part in parts}


def _part(given: object, at: str) -> dict[str, Value]:
    if not isinstance(given, Mapping):
        raise Invalid([Problem(at, found(given), "an object of numbers and words")])
    return {str(name): _plain(value, f"{at}.{name}") for name, value in given.items()}


def _plain(value: object, at: str) -> Value:
    if isinstance(value, str):
        return value
    number = float(value) if isinstance(value, bool) else strict_json.number(value)
    if number is not None and abs(number) <= MOST_NUMBER:
        return number
    if number is not None and math.isfinite(number):
        raise Invalid([Problem(at, found(value), f"a number from -{MOST_NUMBER:g} to {MOST_NUMBER:g}")])
    raise Invalid([Problem(at, found(value), "a finite number, true, false or a word")])


def _value(row: Features, field: str) -> Value | None:
    part, _, name = field.partition(".")
    return row.get(part, {}).get(name)


def _number(row: Features, field: str, at: str) -> float:
    value = _value(row, field)
    if not isinstance(value, float | int):
        raise Invalid([Problem(f"{at}{field}", found(value), "a number, as in the rows of the fit")])
    return float(value)


def _word(row: Features, field: str, known: Sequence[str], at: str) -> str:
    value = _value(row, field)
    if not isinstance(value, str):
        raise Invalid([Problem(f"{at}{field}", found(value), f"a word, such as {known[0]!r}")])
    return value
