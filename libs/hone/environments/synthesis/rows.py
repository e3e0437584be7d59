"""Rows of a domain: a first world, and rows that distract. Every row refers to rows that are there.

Rows that distract are like those that a task touches, and have nothing to do with it: the same name, a near day,
another status (ScaleEnv, phase 2, step 8). Their number, 3 + 2 len(C1) for each touched table, is a reconstruction.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from hone.environments.packages.package import Tables, TableSpec
from hone.environments.synthesis import naming
from hone.environments.synthesis.record_tools import NOTES
from hone.environments.synthesis.schema import PAYMENT_METHODS, REPORT_KINDS
from hone.environments.synthesis.stock_tools import REPORT_TEXTS, stock_id
from hone.environments.synthesis.theme import Theme

FIRST = ("Ada", "Bruno", "Clara", "Deniz", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Kemal", "Lena", "Mila",
         "Noor", "Oskar", "Paula")
LAST = ("Moss", "Keller", "Novak", "Ito", "Braun", "Silva", "Okafor", "Larsen", "Weiss", "Duarte", "Finch", "Haddad")
CITIES = ("Ulm", "Graz", "Bergen", "Porto", "Leeds", "Tartu", "Brno", "Gent")
PLACES = ("North", "Harbour", "Hill", "Market", "Station", "Mill", "Castle", "Bridge")
PERSONS, PLACES_AT_FIRST, ITEMS, RECORDS, REPORTS = 6, 3, 6, 9, 3
_MOST_TRIES = 30
Row = dict[str, Any]


@dataclass(frozen=True)
class FirstWorld:
    """Tables that rows are added to."""

    theme: Theme
    specs: Mapping[str, TableSpec]
    tables: Tables
    source: random.Random

    def add(self, table: str, row: Row) -> bool:
        """Add a row under a new key, and return whether that could be: no other row may be like it, or called so."""
        spec = self.specs[table]
        hard = [column.name for column in spec.columns if column.kind == "hard" and column.name != spec.key]
        if any(all(row.get(name) == other.get(name) for name in hard) for other in self.tables[table].values()):
            return False
        key = row.get(spec.key) or f"{table[:3]}_{self.source.randint(1000, 9999)}"
        if key in self.tables[table]:
            return False
        self.tables[table][key] = {**{column.name: row.get(column.name) for column in spec.columns}, spec.key: key}
        if table not in ("stock", "payments") and not naming.unique(self.theme, self.tables, spec.key, key):
            del self.tables[table][key]
            return False
        return True

    def fill(self, table: str, count: int, like: Row | None = None) -> int:
        """Add up to `count` rows, like one where that is given, and return how many there are more."""
        before = len(self.tables[table])
        for _ in range(_MOST_TRIES * count):
            if len(self.tables[table]) == before + count:
                break
            self.add(table, _drawn(self, table, like))
        return len(self.tables[table]) - before


def first_world(theme: Theme, specs: Collection[TableSpec], source: random.Random) -> FirstWorld:
    """Return a world of few rows in every table."""
    world = FirstWorld(theme, {spec.name: spec for spec in specs}, {spec.name: {} for spec in specs}, source)
    for table, count in ((theme.persons, PERSONS), (theme.places, PLACES_AT_FIRST), (theme.items, ITEMS),
                         (theme.records, RECORDS), ("payments", RECORDS // 3), (theme.reports, REPORTS)):
        if table in world.tables:
            world.fill(table, count)
    if theme.stocked:
        for place in world.tables[theme.places]:
            for item in world.tables[theme.items]:
                world.add("stock", _stock(world, place, item))
    return world


def distract(world: FirstWorld, touched: Mapping[str, Collection[str]], count: int) -> None:
    """Add `count` rows like the touched ones to each touched table, and put all rows into the order of their keys.

    Keys are drawn, so this order says nothing; a package that is read back has it too.
    """
    for table, keys in touched.items():
        rows = [dict(world.tables[table][key]) for key in sorted(keys) if key in world.tables[table]]
        for number in range(count):
            world.fill(table, 1, rows[number % len(rows)] if rows else None)
    for rows_by_key in world.tables.values():
        moved = dict(sorted(rows_by_key.items()))
        rows_by_key.clear()
        rows_by_key.update(moved)


def dangling(specs: Collection[TableSpec], tables: Tables) -> list[str]:
    """Return the cells that refer to a row that is not there, as `table.key.column`. An optional cell may be None."""
    return [f"{spec.name}.{key}.{column.name}" for spec in specs for column in spec.columns if column.references
            for key, row in tables[spec.name].items() if row[column.name] not in tables[column.references]
            and not (column.optional and row[column.name] is None)]


def _drawn(world: FirstWorld, table: str, like: Row | None) -> Row:
    theme = world.theme
    made = {theme.persons: _person, theme.places: _place, theme.items: _item, theme.records: _record,
            theme.reports: _report, "payments": _payment, "stock": _any_stock}[table]
    return made(world, like)


def _person(world: FirstWorld, like: Row | None) -> Row:
    draw, theme = world.source, world.theme
    name = like["name"] if like and draw.random() < 0.7 else f"{draw.choice(FIRST)} {draw.choice(LAST)}"
    email = f"{name.lower().replace(' ', '.')}{draw.randint(1, 99)}@mail.example"
    return {"name": name, "email": email, "phone": f"555-{draw.randint(1000, 9999)}",
            "level": draw.choice(theme.levels), "status": draw.choice(("active", "active", "active", "suspended")),
            "balance": draw.randint(20, 600) / 2}


def _place(world: FirstWorld, like: Row | None) -> Row:
    draw = world.source
    return {"name": like["name"] if like and draw.random() < 0.7 else draw.choice(PLACES), "city": draw.choice(CITIES)}


def _item(world: FirstWorld, like: Row | None) -> Row:
    draw, theme = world.source, world.theme
    first, second = theme.titles
    title = like["title"] if like and draw.random() < 0.7 else f"{draw.choice(first)} {draw.choice(second)}"
    place = {f"{theme.place}_id": draw.choice(list(world.tables[theme.places]))} if theme.located else {}
    return {"title": title, "category": draw.choice(theme.categories), **place, theme.unit: draw.randint(0, 9),
            "price": draw.randint(10, 160) / 2, theme.code: f"{draw.choice('ABCDEFGH')}-{draw.randint(100, 999)}",
            "state": draw.choice(("available", "available", "available", "closed"))}


def _record(world: FirstWorld, like: Row | None) -> Row:
    draw, theme = world.source, world.theme
    person, item = f"{theme.person}_id", f"{theme.item}_id"
    who, what = (draw.choice(list(world.tables[table])) for table in (theme.persons, theme.items))
    status, day = draw.choice(theme.statuses), date(2026, 2, 1) + timedelta(draw.randint(0, 140))
    if like:  # of the same person but settled, or of somebody else for the same
        who, what = (like[person], what) if draw.random() < 0.5 else (who, like[item])
        status = draw.choice(theme.statuses[1:]) if who == like[person] else status
        day = date.fromisoformat(like[theme.due]) + timedelta(draw.randint(-3, 3))
    paid = {"paid": status == theme.statuses[1] or (status == theme.statuses[0] and draw.random() < 0.4)}
    return {person: who, item: what, "quantity": draw.randint(1, 3) if "resize" in theme.tools else 1,
            "status": status, theme.due: day.isoformat(), **(paid if theme.paid else {}),
            "note": draw.choice(("", *NOTES)), "created_at": _past(draw)}


def _payment(world: FirstWorld, like: Row | None) -> Row:
    draw, theme = world.source, world.theme
    record = draw.choice(list(world.tables[theme.records]))
    amount = like["amount"] + draw.randint(-4, 4) / 2 if like else draw.randint(10, 160) / 2
    person = world.tables[theme.records][record][f"{theme.person}_id"]
    return {f"{theme.person}_id": person, f"{theme.record}_id": record, "amount": max(0.5, amount),
            "method": draw.choice(PAYMENT_METHODS), "created_at": _past(draw)}


def _report(world: FirstWorld, like: Row | None) -> Row:
    draw, item = world.source, f"{world.theme.item}_id"
    what = like[item] if like and draw.random() < 0.5 else draw.choice(list(world.tables[world.theme.items]))
    return {item: what, "kind": draw.choice(REPORT_KINDS), "text": draw.choice(REPORT_TEXTS),
            "status": draw.choice(("open", "closed")), "created_at": _past(draw)}


def _any_stock(world: FirstWorld, like: Row | None) -> Row:
    place, item = (world.source.choice(list(world.tables[table])) for table in (world.theme.places, world.theme.items))
    return _stock(world, place, like[f"{world.theme.item}_id"] if like and world.source.random() < 0.5 else item)


def _stock(world: FirstWorld, place: str, item: str) -> Row:
    return {"stock_id": stock_id(place, item), f"{world.theme.place}_id": place, f"{world.theme.item}_id": item,
            "quantity": world.source.randint(0, 25)}


def _past(draw: random.Random) -> str:
    return f"2025-{draw.randint(6, 12):02d}-{draw.randint(1, 28):02d}T{draw.randint(8, 17):02d}:00:00Z"
