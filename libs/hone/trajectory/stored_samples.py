"""Samples read back from the object store by their rows, as far as they are there and not too large together."""

from collections.abc import Mapping, Sequence
from typing import Any

from hone.store.objects import ObjectMissing, Objects
from hone.trajectory import parts
from hone.trajectory.records import Trajectory

MOST_BYTES = 2**28
"""Unpacked bytes of the parts that are read together."""

Row = Mapping[str, Any]


def read(
    objects: Objects, rows: Sequence[Row], most_bytes: int | None = MOST_BYTES
) -> tuple[list[tuple[Row, Trajectory]], bool]:
    """Return the samples of rows that name their `part` and `row` in it, and whether none was left out for its size.

    They are in the order of the rows, whichever parts hold them. A part that is gone is left out, and so are the last
    parts where all together have more than `most_bytes`; None: there is no bound.
    """
    found, size, by_part = dict[int, tuple[Row, Trajectory]](), 0, dict[str, list[int]]()
    for place, row in enumerate(rows):
        by_part.setdefault(row["part"], []).append(place)
    for part, places in by_part.items():
        try:
            data = objects.get(part)
        except ObjectMissing:
            continue
        size += parts.unpacked_bytes(data)
        if most_bytes is not None and size > most_bytes:
            return _ordered(found), False
        whole = parts.decode(data)
        found |= {place: (rows[place], whole[rows[place]["row"]]) for place in places}
    return _ordered(found), True


def _ordered(found: Mapping[int, tuple[Row, Trajectory]]) -> list[tuple[Row, Trajectory]]:
    return [found[place] for place in sorted(found)]
