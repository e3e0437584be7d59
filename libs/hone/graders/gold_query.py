"""The gold query of a task row: its results on several databases, and whether anyone can be graded by them."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Literal, TypeAlias

from hone.environments.sql_instances import turned_round, with_fewer_rows
from hone.environments.sql_reading import OrderTerm, Table, order_terms, ordered
from hone.environments.sql_reading import read as read_within
from hone.environments.sql_results import same, same_columns, same_set
from hone.environments.sql_tables import made
from hone.environments.statements import StatementError
from hone.graders.contract import InvalidSpec

Comparison: TypeAlias = Literal["multiset", "set", "ordered", "columns"]
Fault: TypeAlias = Literal["empty", "unstable", "nulls", "text_numbers"]


_OPEN = "the gold query leaves the order of equal ranks open: no order counts"
_MOST_TERMS = 50
_TRIED = 3
"""Databases with fewer rows that are tried for each that is wanted."""
_BYTES = 8_000_000_000
"""Bytes that a query may move. The dearest queries take about a second; one over 50,000 rows is far cheaper."""


def read(database: bytes, sql: str) -> Table:
    """Return the result of a query. Raises StatementError, also where it costs too much."""
    return read_within(database, sql, budget=_BYTES)


@dataclass(frozen=True)
class ResultRule:
    """When two results are equal."""

    comparison: Comparison
    in_order: bool
    extra_columns: int = 2

    def equal(self, found: Table, gold: Table) -> bool:
        """Return whether a result is the gold one."""
        if self.comparison == "set":
            return same_set(found, gold)
        if self.comparison == "columns":
            return same_columns(found, gold, self.in_order, self.extra_columns)
        return same(found, gold, self.in_order)


@dataclass(frozen=True)
class Gold:
    """Databases, the row's own first, each with the gold result, and when another result equals it."""

    results: tuple[tuple[bytes, Table], ...]
    rule: ResultRule
    notes: tuple[str, ...] = ()  # what is not compared, and why


@lru_cache(maxsize=8)
def gold(script: str, sql: str, rule: ResultRule, perturbed: int, allowed: frozenset[Fault]) -> Gold:
    """Return the results of the gold query on the database of a script, and on `perturbed` ones with fewer rows.

    The script may be a SQLite file in base64. Raises InvalidSpec, which names the field: for a script or a query that
    fails, and for a fault of the query that is not allowed. Where rows of an equal rank may come in any order, no order
    is expected.
    """
    try:
        database = made(script)
    except StatementError as error:
        raise _invalid(f"database: it cannot be made: {error}") from error
    rule = replace(rule, in_order=rule.in_order or (rule.comparison != "set" and ordered(sql)))
    whole = _decided(database, sql, rule, allowed)
    others = tuple(islice(_perturbed(database, sql, whole.rule, perturbed, allowed), perturbed))
    few = len(others) < perturbed
    note = f"{len(others)} of {perturbed} databases with other rows have a result that the gold query decides"
    return replace(whole, results=(*whole.results, *others), notes=(*whole.notes, *([note] if few else [])))


def _decided(database: bytes, sql: str, rule: ResultRule, allowed: frozenset[Fault]) -> Gold:
    """Return the gold on one database. Raises InvalidSpec where the query fails, or has a fault there."""
    try:
        result = read(database, sql)
    except StatementError as error:
        raise _invalid(f"gold: it fails: {error}") from error
    if result.more:
        raise _invalid(f"gold: found more than {len(result.rows)} rows, expected all that are compared")
    if "empty" not in allowed and all(cell is None for row in result.rows for cell in row):
        raise _invalid("gold: found no row, or NULL alone, expected a result that has to be found (empty)")
    whole = Gold(((database, result),), rule)
    if "unstable" not in allowed:
        whole = _stable(whole, sql)
    _check_order(whole, sql, allowed)
    return whole


def _perturbed(
    database: bytes, sql: str, rule: ResultRule, wanted: int, allowed: frozenset[Fault]
) -> Iterator[tuple[bytes, Table]]:
    """Yield databases with fewer rows and the gold results there, without those where the query decides less."""
    for number in range(_TRIED * wanted):
        try:
            fewer = with_fewer_rows(database, number)
        except StatementError as error:
            raise _invalid(f"database: its rows cannot be perturbed ({error}); perturbed 0 leaves them") from error
        with suppress(InvalidSpec):
            found = _decided(fewer, sql, rule, allowed)
            if found.rule == rule:
                yield found.results[0]


def _stable(whole: Gold, sql: str) -> Gold:
    """Return the gold, without an order where ties leave it open. Raises InvalidSpec if the rows themselves are open.

    A LIMIT that cuts a tie, rows without an order, and the clock make a result that another right query need not have.
    """
    [(database, result)] = whole.results
    try:
        others = [read(database, sql), read(turned_round(database), sql), *_ranked(database, sql, len(result.columns))]
    except StatementError as error:
        raise _invalid(f"database: its rows cannot be turned round ({error}); allow unstable leaves them") from error
    if all(whole.rule.equal(other, result) for other in others):
        return whole
    loose = replace(whole.rule, comparison="multiset" if whole.rule.comparison == "ordered" else whole.rule.comparison,
                    in_order=False)
    if all(loose.equal(other, result) for other in others):
        return replace(whole, rule=loose, notes=(_OPEN,))
    raise _invalid("gold: found a result that depends on how rows are stored, as where a LIMIT cuts a tie, expected an "
                   "ORDER BY that decides (unstable)")


def _ranked(database: bytes, sql: str, columns: int) -> Iterator[Table]:
    """Yield the results where rows of an equal rank come by their values, and the other way round.

    Rows that are grouped come by their group, however they are stored.
    """
    terms = order_terms(sql)
    for way in ("ASC", "DESC") if terms else ():
        more = "".join(f", {number} {way}" for number in range(1, min(columns, _MOST_TERMS) + 1))
        with suppress(StatementError):  # a form that SQLite refuses says nothing
            yield read(database, f"{sql[:terms[-1].end]}{more}{sql[terms[-1].end:]}")


def _check_order(whole: Gold, sql: str, allowed: Collection[Fault]) -> None:
    """Raise InvalidSpec where NULL comes first and changes the result, or where numbers are ordered as texts."""
    terms = order_terms(sql)
    if "nulls" not in allowed and not _alike(whole, sql, _with_nulls_last(sql, terms)):
        raise _invalid("gold: found NULL before the values that it orders by, expected NULLS FIRST, NULLS LAST or a "
                       "condition (nulls)")
    if "text_numbers" not in allowed and not _alike(whole, sql, _with_numbers(sql, terms)):
        raise _invalid("gold: found numbers that are stored as text and ordered as text, expected a CAST "
                       "(text_numbers)")


def _alike(whole: Gold, one: str, other: str) -> bool:
    """Return whether two forms of the query have equal results. A form that SQLite refuses says nothing."""
    [(database, _)] = whole.results
    try:
        return one == other or whole.rule.equal(read(database, one), read(database, other))
    except StatementError:
        return True


def _with_nulls_last(sql: str, terms: list[OrderTerm]) -> str:
    for term in reversed(terms):
        if not term.places_nulls:
            sql = f"{sql[:term.end]} NULLS LAST{sql[term.end:]}"
    return sql


def _with_numbers(sql: str, terms: list[OrderTerm]) -> str:
    """Return the query ordered by the numbers that texts hold."""
    for term in reversed(terms):
        given = sql[term.start:term.expression_end]
        if not given.strip().isdecimal():  # the number of a column
            number = f"CAST(({given}\n) AS NUMERIC)"
            held = f"typeof({given}\n) = 'text' AND CAST({number} AS TEXT) = ({given}\n)"
            made = f" CASE WHEN {held} THEN {number} ELSE {given}\nEND "
            sql = sql[:term.start] + made + sql[term.expression_end:]
    return sql


def _invalid(reason: str) -> InvalidSpec:
    return InvalidSpec(f"other_error: {reason}")
