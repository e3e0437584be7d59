"""Whether the last state of a package's tables is the true one: ScaleEnv's reward, arXiv 2602.06820.

The tolerances of cells are those of `hone.environments.cell_classes`, a reconstruction.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hone.environments.cell_classes import hard_equal, plain_key, semantic_equal
from hone.environments.packages.package import Column, Manifest, Tables, TableSpec

Row = Mapping[str, Any]


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
    """Return what differs in cells that are not exempt, by table. No mismatch is a reward of 1."""
    return [one for table in manifest.tables
            for one in _of_table(table, final.get(table.name, {}), truth.get(table.name, {}))]


def _of_table(table: TableSpec, final: Mapping[str, Row], truth: Mapping[str, Row]) -> Iterator[Mismatch]:
    pairs, missing, added = _aligned(table, final, truth)
    for key, found, expected in pairs:
        yield from (
            Mismatch(table.name, key, column.name, column.kind, expected.get(column.name), found.get(column.name))
            for column in table.columns if found != expected and not _same(column, found, expected))
    yield from (Mismatch(table.name, key, kind="missing", expected=dict(truth[key])) for key in missing)
    yield from (Mismatch(table.name, key, kind="added", found=dict(final[key])) for key in added)


def _aligned(
    table: TableSpec, final: Mapping[str, Row], truth: Mapping[str, Row],
) -> tuple[list[tuple[str, Row, Row]], list[str], list[str]]:
    """Return pairs of rows, keys that are missing and keys that were added.

    Rows are aligned by their key, or by all hard columns where the key itself is exempt.
    """
    if next(column for column in table.columns if column.name == table.key).kind != "exempt":
        shared = [(key, final[key], row) for key, row in truth.items() if key in final]
        return shared, [key for key in truth if key not in final], [key for key in final if key not in truth]
    free, pairs, missing = dict(final), list[tuple[str, Row, Row]](), list[str]()
    for key, row in truth.items():
        found = next((other for other, candidate in free.items() if _alike(table, candidate, row)), None)
        if found is None:
            missing.append(key)
        else:
            pairs.append((key, free.pop(found), row))
    return pairs, missing, list(free)


def _alike(table: TableSpec, one: Row, other: Row) -> bool:
    hard = [column.name for column in table.columns if column.kind == "hard"]
    return one == other or all(
        plain_key(one.get(name)) == plain_key(other.get(name)) or hard_equal(one.get(name), other.get(name))
        for name in hard)


def _same(column: Column, found: Row, expected: Row) -> bool:
    if column.kind == "exempt":
        return True
    same = semantic_equal if column.kind == "semantic" else hard_equal
    return same(found.get(column.name), expected.get(column.name))
