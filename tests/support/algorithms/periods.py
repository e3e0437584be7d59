"""Periods of lives with memories."""

from hone.remembering.scores import Cause, PeriodResult


def period(t: int, causes: tuple[Cause | None, ...], upper: float = 1.0) -> PeriodResult:
    """Return a period of as many questions as causes, of which one variable of two was known."""
    right = tuple(one is None for one in causes)
    return PeriodResult(t, right, (0.25,) * len(right), (upper,) * len(right), {"a": True, "b": False}, causes, 1)
