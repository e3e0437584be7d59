"""What a turn's prompt has that the turn before had not: which tokens stayed, which went, which came."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_SHORTEST = 8
"""Tokens that a stretch inside of a change must have in common to count as kept; fewer are alike by chance."""

_LONGEST = 2000
"""Tokens of a changed stretch up to which it is compared token by token; comparing takes quadratic time."""


@dataclass(frozen=True)
class Stretch:
    """Consecutive tokens with one fate. `start` and `end` are places in the later context, or in the earlier one where
    the stretch was removed."""

    kind: Literal["kept", "removed", "added"]
    start: int
    end: int

    @property
    def tokens(self) -> int:
        return self.end - self.start


def difference(before: Sequence[int], after: Sequence[int]) -> list[Stretch]:
    """Return how one context became the other, in reading order."""
    first = _equal(before, after)
    last = _equal(before[first:][::-1], after[first:][::-1])
    middle = _changed(before[first:len(before) - last], after[first:len(after) - last], first)
    stretches = [Stretch("kept", 0, first), *middle, Stretch("kept", len(after) - last, len(after))]
    return [one for one in stretches if one.tokens]


def _equal(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _changed(before: Sequence[int], after: Sequence[int], start: int) -> list[Stretch]:
    if max(len(before), len(after)) > _LONGEST:
        return _replaced(start, start + len(before), start, start + len(after))
    found: list[Stretch] = []
    gone = come = start
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        ends = block.a == len(before)
        if not ends and block.size < _SHORTEST:
            continue
        found += _replaced(gone, start + block.a, come, start + block.b)
        gone, come = start + block.a + block.size, start + block.b + block.size
        found.append(Stretch("kept", come - block.size, come))
    return found


def _replaced(gone: int, gone_end: int, come: int, come_end: int) -> list[Stretch]:
    return [Stretch("removed", gone, gone_end), Stretch("added", come, come_end)]
