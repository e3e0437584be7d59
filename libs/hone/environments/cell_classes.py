"""How cells of tables are compared, by the class of their column: ScaleEnv, arXiv 2602.06820, section "Reward".

The numbers are a reconstruction: the paper names the classes, and no tolerance.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from rapidfuzz import fuzz

from hone.environments import row_json

ColumnClass: TypeAlias = Literal["exempt", "hard", "semantic"]
"""exempt: not compared. hard: equal values. semantic: texts that say the same."""
Similarity: TypeAlias = Literal["token_set_ratio", "token_sort_ratio"]

TOLERANCE = 1e-6
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?")
_RATIOS: Mapping[Similarity, Callable[..., float]] = {
    "token_set_ratio": fuzz.token_set_ratio, "token_sort_ratio": fuzz.token_sort_ratio}


def hard_equal(found: Any, expected: Any) -> bool:
    """Return whether two cells are equal: numbers with |a - b| <= 1e-6 max(1, |b|), times in UTC, None only to None.

    NaN is None. Whole numbers are compared exactly. A time without a zone is one of UTC.
    """
    found, expected = _value(found), _value(expected)
    if found is None or expected is None:
        return found is None and expected is None
    if isinstance(found, int) and isinstance(expected, int):
        return found == expected
    if isinstance(found, str) and isinstance(expected, str):
        return found == expected or same_time(found, expected)
    number, wanted = row_json.number(found), row_json.number(expected)  # also of a number that a row keeps as text
    return _near(number, wanted) if number is not None and wanted is not None else bool(found == expected)


def semantic_equal(found: Any, expected: Any, similarity: Similarity = "token_set_ratio", least: float = 0.9) -> bool:
    """Return whether two texts are equal in NFC with white space collapsed, or have a ratio of at least `least`.

    What is no text is compared as `hard_equal` does.
    """
    if not isinstance(found, str) or not isinstance(expected, str):
        return hard_equal(found, expected)
    one, other = normal(found), normal(expected)
    return one == other or _RATIOS[similarity](one, other, score_cutoff=100 * least) >= 100 * least


def normal(text: str) -> str:
    """Return a text in NFC, its white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def same_time(one: str, other: str) -> bool:
    """Return whether two texts are ISO 8601 times of one moment."""
    times = _time(one), _time(other)
    return times[0] is not None and times[0] == times[1]


def plain_key(value: Any) -> Any:
    """Return a key that is equal for texts, whole numbers and times that are equal as hard cells, and can be hashed."""
    value = _value(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        return _time(value) or value
    return value if value is None or isinstance(value, int | float) else repr(value)


def is_fraction(value: Any) -> bool:
    """Return whether a cell is a number that other numbers may equal within the tolerance."""
    return isinstance(_value(value), float) or (isinstance(value, str) and row_json.number(value) is not None)


def _near(found: float, expected: float) -> bool:
    return found == expected or abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))


def _value(value: Any) -> Any:
    """Return a cell with None for NaN, and a truth value as the number that SQLite stores for it."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return int(value) if isinstance(value, bool) else value


def _time(text: str) -> datetime | None:
    if not _TIME.fullmatch(text):
        return None
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        return None
