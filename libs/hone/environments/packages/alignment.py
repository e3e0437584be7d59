"""Pairs of equal rows in two states, where keys are generated and cells refer to them.

ScaleEnv (arXiv 2602.06820) aligns rows by their key, or by all hard columns where the key is exempt. It does not say
what a foreign key means that holds such a key: its class is hard, and its values differ from replay to replay. Here a
cell that refers to a row with a generated key is equal where it refers to the row that is matched: a reconstruction.
Rows that share all other hard cells are told apart by what they refer to and by what refers to them, again and again,
until nothing changes: colour refinement. Of rows that are alike in that too any may be the other.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hone.environments.cell_classes import hard_equal, is_fraction, plain_key, semantic_equal
from hone.environments.packages.package import Column, Manifest, Tables, TableSpec

Cells = Mapping[str, Any]
_MOST_TIES = 64
"""Choices among rows that are alike, in one comparison, after which others are told apart again."""


class RowPlace(NamedTuple):
    """A row: of the true state or of the other one, its table and its key."""

    true: bool
    table: str
    key: str


class Aligned(NamedTuple):
    """Pairs of a found row and the true one, with the true key; rows that are missing, and rows that were added."""

    pairs: list[tuple[str, Cells, Cells]]
    missing: list[tuple[str, Cells]]
    added: list[tuple[str, Cells]]


@dataclass(frozen=True)
class Links:
    """References between rows: for each row the rows or other values it refers to, and the rows that refer to it."""

    to: Mapping[RowPlace, Sequence[Hashable]]
    by: Mapping[RowPlace, Sequence[tuple[str, str, RowPlace]]]

    def refined(self, colours: Mapping[RowPlace, int]) -> dict[RowPlace, int]:
        """Return colours that differ where those of neighbours differ. Rows of equal colour had one before."""
        now = dict(colours)
        while True:
            seen = dict[Hashable, int]()
            after = {place: seen.setdefault(self._seen(place, now), len(seen)) for place in now}
            if len(seen) == len(set(now.values())):
                return after
            now = after

    def _seen(self, place: RowPlace, colours: Mapping[RowPlace, int]) -> Hashable:
        return (colours[place], tuple(colours.get(one, one) if isinstance(one, RowPlace) else one
                                      for one in self.to.get(place, ())),
                tuple(sorted((table, column, colours[one]) for table, column, one in self.by.get(place, ()))))

    def of(self, place: RowPlace) -> bool:
        """Return whether a row has neighbours."""
        return bool(self.to.get(place) or self.by.get(place))


class Alignment:
    """All rows of a state and of the true one."""

    def __init__(self, manifest: Manifest, final: Tables, truth: Tables) -> None:
        self._states = {False: final, True: truth}
        self._generated = _generated(manifest.tables)
        self._links = {table.name: [column for column in table.columns if column.kind == "hard"
                                    and column.references in self._generated] for table in manifest.tables}
        self._matched = {name: self._equal(name) for name in self._generated}  # true key -> found key
        if self._generated:
            self._match(manifest.tables)

    def of(self, table: TableSpec) -> Aligned:
        """Return how the rows of a table are aligned."""
        final, truth = (self._states[true].get(table.name, {}) for true in (False, True))
        found = self._matched[table.name] if table.name in self._generated else {
            key: key for key in truth if key in final}
        taken = set(found.values())
        return Aligned([(key, final[found[key]], row) for key, row in truth.items() if key in found],
                       [(key, row) for key, row in truth.items() if key not in found],
                       [(key, row) for key, row in final.items() if key not in taken])

    def same(self, column: Column, found: Cells, expected: Cells) -> bool:
        """Return whether two cells of aligned rows are equal, by the class of their column."""
        if column.kind == "exempt":
            return True
        cell, true = found.get(column.name), expected.get(column.name)
        if column.kind == "semantic":
            return semantic_equal(cell, true)
        known = self._matched.get(column.references or "", {})
        if isinstance(true, str) and true in known:
            return bool(cell == known[true])
        return hard_equal(cell, true) and cell not in known.values()

    def may_differ(self, table: TableSpec, found: Cells, expected: Cells) -> bool:
        """Return whether aligned rows may have cells that are not the same."""
        return bool(self._links[table.name]) or found != expected

    def _equal(self, table: str) -> dict[str, str]:
        """Return the keys of rows that both states have, where none of them refers to another row or is referred to."""
        if self._links[table] or any(column.references == table for links in self._links.values() for column in links):
            return {}
        final, truth = (self._states[true].get(table, {}) for true in (False, True))
        return {key: key for key, row in truth.items() if final.get(key) == row}

    def _match(self, tables: Sequence[TableSpec]) -> None:
        first, links = self._first_colours(tables), self._neighbours(tables)
        colours = links.refined(first) if links.to else first
        for tie in range(_MOST_TIES if links.to else 0):
            chosen = next(self._ties(links, colours), None)
            if chosen is None:
                break
            colours = links.refined({**colours, **dict.fromkeys(chosen, -1 - tie)})
        self._pair(colours)
        self._pair(first)  # what is left differs in what it refers to: that cell is the mismatch

    def _first_colours(self, tables: Sequence[TableSpec]) -> dict[RowPlace, int]:
        """Return colours: rows with generated keys by the hard cells that refer to no such row, others by their key."""
        colours, count = dict[RowPlace, int](), 0
        for table in tables:
            if table.name not in self._generated and not self._links[table.name]:
                continue
            linked = {column.name for column in self._links[table.name]}
            names = [column.name for column in table.columns if column.kind == "hard" and column.name not in linked]
            kinds = _Kinds(names if table.name in self._generated else [table.key], count)
            equal = self._matched.get(table.name, {})
            for true, state in self._states.items():
                for key, row in state.get(table.name, {}).items():
                    if key not in equal:
                        colours[RowPlace(true, table.name, key)] = kinds.of(row)
            count += kinds.count
        return colours

    def _neighbours(self, tables: Sequence[TableSpec]) -> Links:
        to, by = dict[RowPlace, list[Hashable]](), defaultdict[RowPlace, list[tuple[str, str, RowPlace]]](list)
        for table in tables:
            for true, state in self._states.items():
                for key, row in state.get(table.name, {}).items() if self._links[table.name] else ():
                    place = RowPlace(true, table.name, key)
                    to[place] = [self._target(true, column, row.get(column.name)) for column in self._links[table.name]]
                    for column, one in zip(self._links[table.name], to[place], strict=True):
                        if isinstance(one, RowPlace):
                            by[one].append((table.name, column.name, place))
        return Links(to, by)

    def _target(self, true: bool, column: Column, value: Any) -> Hashable:
        name = column.references or ""
        there = isinstance(value, str) and value in self._states[true].get(name, {})
        return RowPlace(true, name, value) if there else (repr(plain_key(value)),)

    def _ties(self, links: Links, colours: Mapping[RowPlace, int]) -> Iterator[tuple[RowPlace, RowPlace]]:
        """Yield a choice of two rows for each colour that several have, where it tells neighbours apart."""
        for found, true in _sides(colours):
            if found and true and len(found) + len(true) > 2 and links.of(true[0]) and true[0].table in self._generated:
                yield self._likest(found, true[0]), true[0]

    def _pair(self, colours: Mapping[RowPlace, int]) -> None:
        """Match rows of equal colours that are not matched yet."""
        taken = {RowPlace(False, table, key) for table, keys in self._matched.items() for key in keys.values()}
        for found, true in _sides(colours):
            free = [one for one in found if one not in taken]
            for place in true:
                if free and place.table in self._generated and place.key not in self._matched[place.table]:
                    chosen = self._likest(free, place)
                    free.remove(chosen)
                    self._matched[place.table][place.key] = chosen.key

    def _likest(self, found: Sequence[RowPlace], true: RowPlace) -> RowPlace:
        """Return the row that says the same as the true one and has its key, as far as there is such a one."""
        texts = [column.name for column in self._generated[true.table].columns if column.kind == "semantic"]
        row = self._row(true)
        return max(found, key=lambda one: (all(semantic_equal(self._row(one).get(name), row.get(name))
                                               for name in texts), one.key == true.key))

    def _row(self, place: RowPlace) -> Cells:
        return self._states[place.true][place.table][place.key]


class _Kinds:
    """Numbers rows by cells: equal numbers for rows whose cells are equal as hard ones."""

    def __init__(self, names: Sequence[str], first: int) -> None:
        self._names, self._first, self._known = names, first, dict[Hashable, int]()
        self._kinds = list[tuple[Cells, int]]()

    @property
    def count(self) -> int:
        return len(self._kinds)

    def of(self, row: Cells) -> int:
        """Return the number of a row."""
        key = tuple(plain_key(row.get(name)) for name in self._names)
        if key not in self._known:
            near = (number for other, number in self._kinds if self._near(other, row)) if any(
                is_fraction(row.get(name)) for name in self._names) else iter(())
            number = next(near, self._first + len(self._kinds))
            self._kinds.append((row, number))
            self._known[key] = number
        return self._known[key]

    def _near(self, one: Cells, other: Cells) -> bool:
        return all(plain_key(one.get(name)) == plain_key(other.get(name)) or hard_equal(one.get(name), other.get(name))
                   for name in self._names)


def _generated(tables: Iterable[TableSpec]) -> dict[str, TableSpec]:
    """Return the tables whose keys are generated: exempt, or those of rows with such a key."""
    keys = {table.name: next(column for column in table.columns if column.name == table.key) for table in tables}
    found = {name for name, key in keys.items() if key.kind == "exempt"}
    while more := {name for name, key in keys.items() if key.references in found} - found:
        found |= more
    return {table.name: table for table in tables if table.name in found}


def _sides(colours: Mapping[RowPlace, int]) -> Iterator[tuple[list[RowPlace], list[RowPlace]]]:
    """Yield the rows of each colour: of the state, and of the true one."""
    sides = defaultdict[int, tuple[list[RowPlace], list[RowPlace]]](lambda: ([], []))
    for place, colour in colours.items():
        sides[colour][place.true].append(place)
    yield from sides.values()
