"""What a sink is given, and what it must do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Point:
    """One metric of one step of a run; `at` is when it was recorded, seconds since 1970."""

    run_id: str
    run_name: str
    step: int
    name: str
    value: float
    at: float


class SinkAway(ConnectionError):
    """The destination does not take points now; the same points are offered again later."""


class Sink(Protocol):
    """A destination. Points it was given before may come again after a crash: they must not count twice.

    Every method may raise SinkAway.
    """

    def write(self, points: Sequence[Point]) -> None:
        """Take points of any runs, ordered by run and step; once it returns they are the destination's to keep."""

    def end(self, run_id: str, run_name: str, state: str) -> None:
        """Learn that a run has ended as `state`, also one that another process wrote; a later point opens it again."""

    def close(self) -> None:
        """Let go of everything that is open: of runs that go on, another process writes the rest."""


class LibraryMissing(Exception):
    """The optional library of a sink is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"{library} is not installed; pip install 'hone-rl[{extra}]'")


Opener = Callable[[str], Sink]
"""Opens the sink for a target; raises LibraryMissing."""
