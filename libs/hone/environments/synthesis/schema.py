"""The tables of a domain. Keys of records, payments and reports are generated, so they are exempt from comparison."""

from collections.abc import Iterator
from typing import Any

from hone.environments.packages.package import Column, TableSpec
from hone.environments.synthesis.draft import filled
from hone.environments.synthesis.theme import Theme

PAYMENT_METHODS = ("balance", "voucher")
REPORT_KINDS = ("minor", "major", "urgent")


def tables(theme: Theme) -> list[TableSpec]:
    """Return the tables of a domain, those that are referred to first."""
    return list(_tables(theme))


def _tables(theme: Theme) -> Iterator[TableSpec]:
    yield _table(theme, "$persons", "$person_id", [
        Column(name="name"), Column(name="email"), Column(name="phone"),
        Column(name="level", values=list(theme.levels)), Column(name="status", values=["active", "suspended"]),
        Column(name="balance", type="number")])
    if theme.located:
        yield _table(theme, "$places", "$place_id", [Column(name="name"), Column(name="city")])
    yield _table(theme, "$items", "$item_id", _item_columns(theme))
    yield _table(theme, "$records", "$record_id", _record_columns(theme), generated=True)
    if theme.paid:
        yield _table(theme, "payments", "payment_id", [
            _refers(theme, "$person"), _refers(theme, "$record", kind="exempt"),  # it may be a generated id
            Column(name="amount", type="number"), Column(name="method", values=list(PAYMENT_METHODS)), _CREATED],
            generated=True)
    if theme.stocked:
        yield _table(theme, "stock", "stock_id", [
            _refers(theme, "$place"), _refers(theme, "$item"), Column(name="quantity", type="integer")])
    if "file_report" in theme.tools:
        yield _table(theme, "$reports", "$report_id", [
            _refers(theme, "$item"), Column(name="kind", values=list(REPORT_KINDS)),
            Column(name="text", kind="semantic"), Column(name="status", values=["open", "closed"]), _CREATED],
            generated=True)


_CREATED = Column(name="created_at", type="time", kind="exempt")


def _item_columns(theme: Theme) -> list[Column]:
    located = [_refers(theme, "$place")] if theme.located else []
    return [Column(name="title"), Column(name="category", values=list(theme.categories)), *located,
            Column(name=theme.unit, type="integer"), Column(name="price", type="number"), Column(name=theme.code),
            Column(name="state", values=["available", "closed"])]


def _record_columns(theme: Theme) -> list[Column]:
    paid = [Column(name="paid", type="boolean")] if theme.paid else []
    return [_refers(theme, "$person"), _refers(theme, "$item"), Column(name="quantity", type="integer"),
            Column(name="status", values=list(theme.statuses)), Column(name=theme.due, type="time"),
            *paid, Column(name="note", kind="semantic"), _CREATED]


def _refers(theme: Theme, noun: str, **more: Any) -> Column:
    return Column(name=filled(theme, f"{noun}_id"), references=filled(theme, f"{noun}s"), **more)


def _table(theme: Theme, name: str, key: str, columns: list[Column], *, generated: bool = False) -> TableSpec:
    named = filled(theme, key)
    first = Column(name=named, kind="exempt" if generated else "hard")
    return TableSpec(name=filled(theme, name), key=named, columns=[first, *columns])
