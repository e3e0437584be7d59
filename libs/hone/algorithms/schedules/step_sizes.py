"""The sizes of a run's steps as pieces of equal steps, so that a billion steps take no more memory than one."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True)
class Piece:
    """Consecutive steps of one size, in groups."""

    steps: int
    size: int


@dataclass(frozen=True)
class StepSizes:
    """Sizes of steps 1 to `steps`."""

    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, sizes: Iterable[int]) -> "StepSizes":
        """Return the sizes of steps that are listed one by one."""
        return cls(tuple(Piece(1, size) for size in sizes))

    def __iter__(self) -> Iterator[int]:
        """Yield the size of each step."""
        for piece in self.pieces:
            for _ in range(piece.steps):
                yield piece.size

    @property
    def steps(self) -> int:
        """Number of steps."""
        return self._ends[-1] if self._ends else 0

    @property
    def largest(self) -> int:
        """Groups of the largest step."""
        return max(piece.size for piece in self.pieces)

    def size(self, n: int) -> int:
        """Return the groups of step `n`, from 1 to `steps`."""
        return self.pieces[bisect_left(self._ends, n)].size

    def before(self, n: int) -> int:
        """Return the groups of all steps before step `n`."""
        done = min(n - 1, self.steps)
        place = bisect_left(self._ends, done)
        whole, begin = (self._groups[place - 1], self._ends[place - 1]) if place else (0, 0)
        return whole + (done - begin) * self.pieces[place].size if self.pieces else 0

    @cached_property
    def _ends(self) -> list[int]:
        """The last step of each piece."""
        return list(accumulate(piece.steps for piece in self.pieces))

    @cached_property
    def _groups(self) -> list[int]:
        """The groups of all pieces up to each piece."""
        return list(accumulate(piece.steps * piece.size for piece in self.pieces))
