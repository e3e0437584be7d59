"""Numbers in a config.json: finite and of a sane size, or refused by the field's name."""

LARGEST = 1e12
"""Largest number that makes sense in a field."""

MOST_TOKENS = 2**20
"""Largest vocabulary. Services hold the texts of all tokens, and engines a number for each of them at each position."""
_MOST = 2**31 - 1


class Unsupported(ValueError):
    """A model that Hone cannot run: the config's field, its value, and the expected values."""

    def __init__(self, field: str, found: object, expected: str) -> None:
        super().__init__(f"{field}: found {found!r}, expected {expected}")
        self.field, self.found, self.expected = field, found, expected


def number(field: str, value: object, least: float, most: float = LARGEST) -> float:
    """Return a finite number within bounds. Raises Unsupported."""
    if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
        return float(value)
    raise Unsupported(field, value, f"a number from {least:g} to {most:g}")


def count(field: str, value: object) -> int:
    """Return a whole number of at least 1. Raises Unsupported."""
    most = MOST_TOKENS if field == "vocab_size" else _MOST
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
        return value
    raise Unsupported(field, value, f"a whole number from 1 to {most}")
