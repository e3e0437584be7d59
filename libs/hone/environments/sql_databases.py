"""Generated databases with questions: tables with foreign keys, stale copies of tables, and questions with gold SQL.

Half of a database's tables are asked about. The others are copies of them under another name (`orders_archive`), with
some columns left out and other rows, so that a policy has to look before it writes a query.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_THINGS = (
    "customer", "order", "item", "product", "invoice", "payment", "shipment", "supplier", "employee", "project", "task",
    "ticket", "student", "course", "teacher", "exam", "book", "author", "loan", "player", "team", "league", "stadium",
    "driver", "race", "car", "garage", "flight", "airport", "pilot", "hotel", "room", "guest", "patient", "doctor",
    "visit", "drug", "account", "transfer", "branch_office", "song", "album", "artist", "concert", "film", "actor",
    "review", "museum", "painting", "farm", "crop", "harvest", "sensor", "reading", "station", "trip", "bridge",
    "river", "lake", "park", "ranger", "vote", "candidate", "district", "school", "grant", "donor", "event", "sponsor",
    "recipe", "parcel", "depot")
_COPIES = ("archive", "backup", "staging", "draft", "legacy", "sample", "import")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "status": ("open", "closed", "pending"), "city": ("Lima", "Oslo", "Pune", "Turin"),
    "color": ("red", "green", "blue"), "country": ("Chile", "Ghana", "Japan", "Latvia"),
    "category": ("A", "B", "C", "D"), "level": ("low", "middle", "high"), "season": ("spring", "summer", "autumn"),
    "language": ("Czech", "Hindi", "Swahili"), "material": ("wood", "steel", "glass"), "shift": ("day", "night"),
    "priority": ("minor", "major"), "region": ("north", "south", "east", "west")}
_NUMBERS = ("price", "quantity", "weight", "score", "year", "rating", "age", "length", "height", "salary", "budget",
            "capacity", "distance", "duration", "discount", "balance", "revenue", "cost", "rank", "points", "volume",
            "temperature", "speed", "hours")
MOST_TABLES = len(_THINGS) * (1 + len(_COPIES))
MOST_COLUMNS = len(_TEXTS) + len(_NUMBERS)
_MISSING = 0.05
"""Share of missing values."""

Chance = random.Random


@dataclass(frozen=True)
class Shape:
    """How large the generated databases are."""

    tables: tuple[int, int]  # fewest and most
    columns: tuple[int, int]  # fewest and most of a table, besides its id, its name and its key of another table
    rows: int  # of a table


@dataclass(frozen=True)
class _Made:
    """A table: its columns by name with their types, its rows, and the table that its key points at."""

    name: str
    thing: str
    columns: Mapping[str, str]
    rows: list[tuple[Any, ...]]
    parent: "_Made | None" = None

    @property
    def texts(self) -> list[str]:
        return [name for name in self.columns if name in _TEXTS]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.columns if name in _NUMBERS]

    @property
    def key(self) -> str:
        assert self.parent is not None
        return f"{self.parent.thing}_id"

    @property
    def said(self) -> str:
        return self.name.replace("_", " ")


@dataclass(frozen=True)
class Database:
    """A script that makes a database, and the tables that questions are about."""

    name: str
    script: str
    asked: list[_Made]


@dataclass(frozen=True)
class HiddenQuestion:
    """A question about a database, and the SQL whose result is the answer."""

    database: str  # name
    script: str
    question: str
    gold: str
    evidence: str = ""  # what a policy has to know beside the database


@lru_cache(maxsize=24)
def database(number: int, shape: Shape) -> Database:
    """Return the database with this number. Equal numbers and shapes give equal databases."""
    chance = random.Random(f"database {number}")
    count = chance.randint(*shape.tables)
    things = chance.sample(_THINGS, max(min(2, count), min(len(_THINGS), (count + 1) // 2)))
    asked = list[_Made]()
    for place, thing in enumerate(things):
        parent = chance.choice(asked) if asked and (place == 1 or chance.random() < 0.6) else None
        asked.append(_table(thing, parent, shape, chance))
    stale = chance.sample([(made, copy) for made in asked for copy in _COPIES], count - len(asked))
    copies = [_copy(made, f"{made.name}_{copy}", shape, chance) for made, copy in stale]
    every = sorted([*asked, *copies], key=lambda made: made.name)
    return Database(f"db{number}", "\n".join(map(_script, every)), asked)


def question(seed: int, of: Database, kinds: list[str]) -> HiddenQuestion:
    """Return the question of a seed about a database, of one of the kinds in QUESTIONS."""
    chance = random.Random(f"question {seed}")
    said, gold = QUESTIONS[chance.choice(kinds)](of, chance)
    return HiddenQuestion(of.name, of.script, said, gold)


def _table(thing: str, parent: _Made | None, shape: Shape, chance: Chance) -> _Made:
    count = chance.randint(*shape.columns)
    others = chance.sample([*_TEXTS, *_NUMBERS], MOST_COLUMNS)
    first = [next(name for name in others if name in _TEXTS), next(name for name in others if name in _NUMBERS)]
    chosen = [*first, *(name for name in others if name not in first)][:count]
    key = {f"{parent.thing}_id": f"INTEGER REFERENCES {parent.name}(id)"} if parent else {}
    columns = {"id": "INTEGER PRIMARY KEY", "name": "TEXT", **key, **{
        name: "TEXT" if name in _TEXTS else "REAL" if chance.random() < 0.3 else "INTEGER" for name in chosen}}
    return _Made(f"{thing}s", thing, columns, _rows(thing, columns, shape.rows, chance), parent)


def _copy(of: _Made, name: str, shape: Shape, chance: Chance) -> _Made:
    """Return a stale copy of a table: a column or two are gone, and the rows are others."""
    gone = set(chance.sample([*of.texts, *of.numbers], chance.randint(0, 2)))
    columns = {column: kind.partition(" REFERENCES")[0] for column, kind in of.columns.items() if column not in gone}
    return _Made(name, of.thing, columns, _rows(of.thing, columns, shape.rows, chance))


def _rows(thing: str, columns: Mapping[str, str], count: int, chance: Chance) -> list[tuple[Any, ...]]:
    return [tuple(_cell(thing, column, kind, place, count, chance) for column, kind in columns.items())
            for place in range(1, count + 1)]


def _cell(thing: str, column: str, kind: str, place: int, count: int, chance: Chance) -> Any:
    if column == "id":
        return place
    if column == "name":
        return f"{thing} {chance.randrange(10 * count)}"
    if column.endswith("_id"):
        return chance.randint(1, count)
    if chance.random() < _MISSING:
        return None
    if column in _TEXTS:
        return chance.choice(_TEXTS[column])
    return round(chance.uniform(1, 500), 2) if kind == "REAL" else chance.randint(1, 500)


def _script(made: _Made) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in made.columns.items())
    rows = ", ".join(f"({', '.join(map(_literal, row))})" for row in made.rows)
    return f"CREATE TABLE {made.name} ({columns}); INSERT INTO {made.name} VALUES {rows};"


def _literal(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else repr(value)


def _known(made: _Made, column: str, chance: Chance) -> Any:
    """Return a value that the column has, or could have."""
    place = list(made.columns).index(column)
    values = sorted({row[place] for row in made.rows if row[place] is not None})
    return chance.choice(values) if values else _TEXTS[column][0] if column in _TEXTS else 0


def _count(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice(of.asked)
    column = chance.choice(made.texts)
    value = _known(made, column, chance)
    return f"How many {made.said} have the {column} {value}?", (
        f"SELECT count(*) FROM {made.name} WHERE {column} = '{value}'")


def _sum(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice(of.asked)
    number, column = chance.choice(made.numbers), chance.choice(made.texts)
    value = _known(made, column, chance)
    return f"What is the total {number} of {made.said} with the {column} {value}?", (
        f"SELECT sum({number}) FROM {made.name} WHERE {column} = '{value}'")


def _max(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice(of.asked)
    number = chance.choice(made.numbers)
    return f"What is the highest {number} of all {made.said}?", f"SELECT max({number}) FROM {made.name}"


def _list(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice(of.asked)
    number = chance.choice(made.numbers)
    value = _known(made, number, chance)
    return f"What are the names of {made.said} with a {number} above {value}?", (
        f"SELECT name FROM {made.name} WHERE {number} > {value}")


def _top(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice(of.asked)
    number = chance.choice(made.numbers)
    return (f"Which three {made.said} have the highest {number}? Names, highest first; of equal ones the lower id.",
            f"SELECT name FROM {made.name} ORDER BY {number} DESC, id LIMIT 3")


def _join(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice([made for made in of.asked if made.parent])
    assert made.parent is not None
    number, column = chance.choice(made.numbers), chance.choice(made.parent.texts)
    value = _known(made.parent, column, chance)
    return f"What is the total {number} of {made.said} whose {made.parent.thing} has the {column} {value}?", (
        f"SELECT sum(m.{number}) FROM {made.name} AS m JOIN {made.parent.name} AS p ON m.{made.key} = p.id "
        f"WHERE p.{column} = '{value}'")


def _group(of: Database, chance: Chance) -> tuple[str, str]:
    made = chance.choice(of.asked)
    column = chance.choice(made.texts)
    return f"For each {column} of {made.said}, how many are there?", (
        f"SELECT {column}, count(*) FROM {made.name} GROUP BY {column}")


QUESTIONS: Mapping[str, Callable[[Database, Chance], tuple[str, str]]] = {
    "count": _count, "sum": _sum, "max": _max, "list": _list, "top": _top, "join": _join, "group": _group}
"""Kinds of questions: each returns a question about a database, and its gold SQL."""
