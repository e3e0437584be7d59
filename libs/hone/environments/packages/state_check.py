"""Whether the last state of a package's tables is the true one: ScaleEnv's reward, arXiv 2602.06820.

The tolerances of cells are those of `hone.environments.cell_classes`, a reconstruction.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hone.environments.packages.alignment import Alignment
from hone.environments.packages.package import Manifest, Tables, TableSpec


@dataclass(frozen=True)
class Mismatch:
    """A cell, or a whole row, that is not as it should be. A row that is missing, or one too many, has no column."""

    table: str
    key: str
    column: str = ""
    kind: str = ""  # class of the column; of a row missing or added
    expected: Any = None
    found: Any = None


def mismatches(manifest: Manifest, final: Tables, truth: Tables) -> list[Mismatch]:
    """Return the differences in cells that are not exempt, by table. No mismatch is a reward of 1."""
    alignment = Alignment(manifest, final, truth)
    return [one for table in manifest.tables for one in _of_table(table, alignment)]


def _of_table(table: TableSpec, alignment: Alignment) -> Iterator[Mismatch]:
    rows = alignment.of(table)
    for key, found, expected in rows.pairs:
        yield from (
            Mismatch(table.name, key, column.name, column.kind, expected.get(column.name), found.get(column.name))
            for column in table.columns if alignment.may_differ(table, found, expected)
            and not alignment.same(column, found, expected))
    yield from (Mismatch(table.name, key, kind="missing", expected=dict(row)) for key, row in rows.missing)
    yield from (Mismatch(table.name, key, kind="added", found=dict(row)) for key, row in rows.added)
