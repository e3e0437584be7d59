"""Differences between two states of tables, row by row, by the classes of their columns.

Sources: the verifier of ScaleEnv, arXiv 2602.06820, and the differences of STAGE-Claw, arXiv 2606.10394. How rows are
paired where their key says nothing is a reconstruction.
"""

import json
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hone.environments.cell_classes import ColumnClass, Similarity, hard_equal, is_fraction, plain_key, semantic_equal
from hone.graders.stored_tables import StoredRow, StoredTable

_MOST_MATCHED = 200
"""Rows of one key on each side that are matched as well as possible; beyond, in their order."""


@dataclass(frozen=True)
class Mismatch:
    """A cell, or with an empty column a whole row, that is not as expected. None: there is no such row."""

    table: str
    key: Mapping[str, Any]
    column: str
    column_class: str
    expected: Any
    got: Any

    def shown(self) -> dict[str, Any]:
        """Return it as a JSON object, by the field names of the specification."""
        return {"table": self.table, "key": dict(self.key), "column": self.column, "class": self.column_class,
                "expected": self.expected, "got": self.got}


@dataclass(frozen=True)
class TableClasses:
    """How the rows of one table are compared."""

    columns: Mapping[str, ColumnClass] = field(default_factory=dict)
    default: ColumnClass = "hard"
    key: Sequence[str] = ()  # instead of the primary key
    similarity: Similarity = "token_set_ratio"
    least: float = 0.9

    def of(self, column: str) -> ColumnClass:
        """Return the class of a column."""
        return self.columns.get(column, self.default)

    def equal(self, column: str, found: Any, expected: Any) -> bool:
        """Return whether two cells of a column are equal by its class."""
        kind = self.of(column)
        if kind == "semantic":
            return semantic_equal(found, expected, self.similarity, self.least)
        return kind == "exempt" or hard_equal(found, expected)


@dataclass(frozen=True)
class Pairs:
    """Rows of two states of a table, by their places: those that belong together, and the others."""

    right: Mapping[int, int]  # place of the found row by that of the expected one: no cell differs
    wrong: Mapping[int, int]
    missing: Sequence[int]  # expected rows
    extra: Sequence[int]  # found rows
    keyed: bool  # by a key; False: by all hard columns


@dataclass(frozen=True)
class Changes:
    """Rows that one state has and another one lacks, and pairs of rows of one key that differ."""

    added: Sequence[StoredRow]
    removed: Sequence[StoredRow]
    changed: Sequence[tuple[StoredRow, StoredRow]]


def changes(before: StoredTable, after: StoredTable, classes: TableClasses) -> Changes:
    """Return the changes of a table. The other way round, added and removed rows change places."""
    pairs = paired(after, before, classes)
    return Changes([after.rows[place] for place in pairs.extra], [before.rows[place] for place in pairs.missing],
                   [(before.rows[one], after.rows[other]) for one, other in sorted(pairs.wrong.items())])


def paired(found: StoredTable, expected: StoredTable, classes: TableClasses) -> Pairs:
    """Pair rows by the key; by all hard columns where there is none or a part of it is exempt.

    Equal keys are a multiset: as many rows as possible are paired with one that no cell differs from.
    """
    columns = _columns(found, expected)
    key = list(classes.key or expected.key or found.key)
    keyed = bool(key) and all(classes.of(column) != "exempt" for column in key)
    if not keyed:
        key = [column for column in columns if classes.of(column) == "hard"]
    right, wrong = dict[int, int](), dict[int, int]()
    compared = [column for column in columns if classes.of(column) != "exempt"]
    for theirs, ours in _buckets(found.rows, expected.rows, key):
        _pair_bucket(_Bucket(found.rows, expected.rows, theirs, ours, key, compared, classes), right, wrong)
    paired_places = {*right.values(), *wrong.values()}
    return Pairs(right, wrong, [place for place in range(len(expected.rows)) if place not in right | wrong],
                 [place for place in range(len(found.rows)) if place not in paired_places], keyed)


def mismatches(
    name: str, found: StoredTable, expected: StoredTable, pairs: Pairs, classes: TableClasses
) -> Iterator[Mismatch]:
    """Yield each cell of paired rows that differs, and each row without a partner."""
    columns = [column for column in _columns(found, expected) if classes.of(column) != "exempt"]
    shown = [*(classes.key or expected.key or found.key)] or columns
    for place, other in sorted(pairs.wrong.items()):
        row, got = expected.rows[place], found.rows[other]
        yield from (Mismatch(name, _part(row, shown), column, classes.of(column), row.get(column), got.get(column))
                    for column in columns if not classes.equal(column, got.get(column), row.get(column)))
    for place in pairs.missing:
        row = expected.rows[place]
        yield Mismatch(name, _part(row, shown), "", "row", dict(row), None)
    for place in pairs.extra:
        row = found.rows[place]
        yield Mismatch(name, _part(row, shown), "", "row", None, dict(row))


def _part(row: StoredRow, columns: Sequence[str]) -> dict[str, Any]:
    return {column: row.get(column) for column in columns}


def _columns(*tables: StoredTable) -> list[str]:
    named = [column for table in tables for column in table.columns]
    return list(dict.fromkeys([*named, *(column for table in tables for row in table.rows for column in row)]))


def _buckets(
    found: Sequence[StoredRow], expected: Sequence[StoredRow], key: Sequence[str]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the places of found and of expected rows that may have one key: numbers within the tolerance go together.
    """
    loose = {column for column in key for row in (*found, *expected) if is_fraction(row.get(column))}
    sides = defaultdict[Hashable, tuple[list[int], list[int]]](lambda: ([], []))
    for side, rows in enumerate((found, expected)):
        for place, row in enumerate(rows):
            sides[tuple(_loose(row.get(column), column in loose) for column in key)][side].append(place)
    yield from sides.values()


def _loose(value: Any, fraction: bool) -> Hashable:
    known: Hashable = plain_key(value)
    return "a number" if fraction and (is_fraction(value) or isinstance(known, int | float)) else (known,)


@dataclass(frozen=True)
class _Bucket:
    """Rows of two states that may have one key, by their places."""

    found: Sequence[StoredRow]
    expected: Sequence[StoredRow]
    theirs: list[int]
    ours: list[int]
    key: Sequence[str]
    compared: Sequence[str]
    classes: TableClasses

    def exact(self, row: StoredRow) -> str:
        return json.dumps([plain_key(row.get(column)) for column in self.compared], default=str)

    def same_key(self, other: int, place: int) -> bool:
        return all(hard_equal(self.found[other].get(column), self.expected[place].get(column)) for column in self.key)

    def same(self, other: int, place: int) -> bool:
        return all(self.classes.equal(column, self.found[other].get(column), self.expected[place].get(column))
                   for column in self.compared)


def _pair_bucket(bucket: _Bucket, right: dict[int, int], wrong: dict[int, int]) -> None:
    """Pair the rows that are equal, then as many right ones as possible, then those of one key in their order."""
    exact = defaultdict[str, list[int]](list)
    for other in reversed(bucket.theirs):
        exact[bucket.exact(bucket.found[other])].append(other)
    for place in bucket.ours:
        equal = exact.get(bucket.exact(bucket.expected[place]))
        if equal:
            right[place] = equal.pop()
    used = set(right.values())
    theirs = [other for other in bucket.theirs if other not in used]
    ours = [place for place in bucket.ours if place not in right]
    matched = _matched(bucket, theirs[:_MOST_MATCHED], ours[:_MOST_MATCHED])
    right |= matched
    left = [other for other in theirs if other not in set(matched.values())]
    for place in (place for place in ours if place not in matched):
        near = [other for other in left[:_MOST_MATCHED] if bucket.same_key(other, place)]
        if near:
            wrong[place] = near[0]
            left.remove(near[0])


def _matched(bucket: _Bucket, theirs: Sequence[int], ours: Sequence[int]) -> dict[int, int]:
    """Return a largest set of pairs without a mismatch: place of the found row by that of the expected one (Kuhn)."""
    edges = {place: [other for other in theirs if bucket.same(other, place)] for place in ours}
    partner = dict[int, int]()

    def augmented(place: int, seen: set[int]) -> bool:
        for other in edges[place]:
            if other not in seen:
                seen.add(other)
                if other not in partner or augmented(partner[other], seen):
                    partner[other] = place
                    return True
        return False

    for place in ours:
        augmented(place, set())
    return {place: other for other, place in partner.items()}
