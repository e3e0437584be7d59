"""The contract of a sink: the points that it gets, and its duties."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Point:
    """One metric of one step of a run. `at` is the time of its recording, in seconds since 1970."""

    run_id: str
    run_name: str
    step: int
    name: str
    value: float
    at: float


class SinkAway(ConnectionError):
    """The destination takes no points now. The same points are sent again later."""


class Sink(Protocol):
    """A destination. After a crash it may get the same points again: they must not count twice.

    Every method may raise SinkAway.
    """

    def write(self, points: Sequence[Point]) -> None:
        """Store points of any runs, ordered by run and step. They must be safe when this returns."""

    def end(self, run_id: str, run_name: str, state: str) -> None:
        """Mark a run as ended in `state`, even if another process wrote its points. A later point opens it again."""

    def close(self) -> None:
        """Close everything that is open. Another process will write the rest of the runs that go on."""


class LibraryMissing(Exception):
    """The optional library of a sink is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed; pip install 'hone-rl[{extra}]'")


SinkOpener = Callable[[str], Sink]
"""Opens the sink of a target. Raises LibraryMissing."""
