"""Amounts on the command line: numbers, or the word for no limit."""

from decimal import Decimal

from hone.spec.problems import Invalid, Problem

NONE = "none"
"""The word for no limit."""


def amount(field: str, text: str) -> float | None:
    """Return the number in a text, whole where it can be, or None for no limit. Raises Invalid."""
    if text == NONE:
        return None
    try:
        number = Decimal(text)
        return int(number) if number == int(number) else float(number)
    except (ArithmeticError, ValueError):
        raise Invalid([Problem(field, text, f"a number, or {NONE}")]) from None
