"""The score of a proposed schema against the gold schema: TRUST-SQL, arXiv 2603.16448."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Mode: TypeAlias = Literal[
    "exact", "f1", "precision", "recall", "recall_then_precision", "recall_then_precision_strict"]

_TABLES, _COLUMNS = 0.4, 0.6
_TOLERANCE = 1e-9
_STRICT = ((1.0, 1.0), (0.9, 0.8), (0.8, 0.6), (0.7, 0.4), (0.6, 0.2), (float("-inf"), 0.1))


@dataclass(frozen=True)
class Schema:
    """Names of tables and columns in lower case; columns as table.column."""

    tables: frozenset[str]
    columns: frozenset[str]

    @classmethod
    def of(cls, tables: Iterable[str], columns: Mapping[str, Iterable[str]]) -> "Schema":
        """Return the schema of a proposal: names of tables, and of columns by table."""
        named = (f"{table}.{column}".lower() for table, names in columns.items() for column in names)
        return cls(frozenset(table.lower() for table in tables), frozenset(named))


@dataclass(frozen=True)
class _Match:
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def schema_score(proposed: Schema, gold: Schema, mode: Mode = "exact") -> float:
    """Return a score in [0, 1]. The caller counts it where exec = 1.

    exact: 1 if both sets match. f1, precision, recall: 0.4 of tables + 0.6 of columns. recall_then_precision: the
    precision if both recalls are 1, else 0; its strict form rounds the precision down to steps. An empty proposal has
    precision 1 only for an empty gold schema. The recall of an empty gold schema is 1.
    """
    if mode == "exact":
        return float(proposed == gold)
    tables, columns = _match(proposed.tables, gold.tables), _match(proposed.columns, gold.columns)
    if mode == "f1":
        return _TABLES * tables.f1 + _COLUMNS * columns.f1
    precision = _TABLES * tables.precision + _COLUMNS * columns.precision
    if mode == "precision":
        return precision
    if mode == "recall":
        return _TABLES * tables.recall + _COLUMNS * columns.recall
    if min(tables.recall, columns.recall) < 1:
        return 0.0
    return precision if mode == "recall_then_precision" else _bucket(precision)


def _match(proposed: frozenset[str], gold: frozenset[str]) -> _Match:
    hits = len(proposed & gold)
    precision = hits / len(proposed) if proposed else float(not gold)
    return _Match(precision, hits / len(gold) if gold else 1.0)


def _bucket(precision: float) -> float:
    return next(paid for least, paid in _STRICT if precision >= least - _TOLERANCE)
