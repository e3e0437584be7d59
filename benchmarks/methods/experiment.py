"""What a behavioural experiment is: variants that run on equal seeds, and what is expected of their means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Figures = Mapping[str, float]
"""What one run of one variant ended with, by name."""

Means = Mapping[str, Figures]
"""Variant -> figures, averaged over seeds."""


@dataclass(frozen=True)
class Outcome:
    """One run: where it ended, and how it got there."""

    figures: Figures
    curve: Sequence[float] = ()  # what the plot shows, one value for each batch or round


@dataclass(frozen=True)
class Expectation:
    """A direction that the method's spec asserts of the means."""

    text: str
    holds: Callable[[Means], bool]


@dataclass(frozen=True)
class Experiment:
    """A toy: the method's own slot functions in a world of a few numbers, against its baseline."""

    source: str  # file of the spec, and where in it
    question: str
    shown: str  # name of what the curve shows
    variants: tuple[str, ...]  # the baseline first
    run: Callable[[str, int], Outcome]  # variant, seed
    expects: tuple[Expectation, ...]
    seeds: int = 3
    across: str = "batch"  # what the curve is over
