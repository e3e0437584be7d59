"""What a peer without our reward service scores answers with; a unit test holds each against our grader."""

from collections.abc import Callable
from typing import Any

Score = Callable[[str, dict[str, Any]], float]


def exact(answer: str, item: dict[str, Any]) -> float:
    """Return 1 when the answer is the item's answer, else 0."""
    return float(answer == item["answer"])


def even_share(answer: str, item: dict[str, Any]) -> float:  # noqa: ARG001
    """Return the share of even digits among the answer's digits; 0 when it has none."""
    digits = [int(symbol) for symbol in answer if symbol.isdigit()]
    return sum(digit % 2 == 0 for digit in digits) / len(digits) if digits else 0.0


SCORES: dict[str, Score] = {"sort_digits": exact, "even_digits": even_share}
