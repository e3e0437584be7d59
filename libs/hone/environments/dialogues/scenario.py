"""A scenario: a user, and the world that the agent works in. A domain makes scenarios from seeds, and has the tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import UnionType
from typing import Any, Literal, Protocol, TypeAlias

from hone.environments.cell_classes import ColumnClass, hard_equal, semantic_equal
from hone.environments.contract import Row
from hone.environments.hashing import digest
from hone.environments.tools import Tool
from hone.users.profile import Profile

Tables: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""A database: rows by their key, by the name of the table. It is never changed in place."""
Classes: TypeAlias = Mapping[str, Mapping[str, ColumnClass]]
"""How columns are compared, by table and name; other columns are hard."""
Columns: TypeAlias = Mapping[str, Mapping[str, type | UnionType]]
"""Columns that tools read, with the types of their cells, by table."""
NO_CLASSES: Classes = {}
NO_COLUMNS: Columns = {}
Figure = Literal["goal", "conversion", "state", "communication", "repetition", "identity"]


@dataclass(frozen=True)
class Scenario:
    """One dialogue to be had."""

    profile: Profile
    policy: str = ""  # what the agent has to keep to
    tables: Tables = field(default_factory=dict)
    expected: Tables | None = None  # the whole database at the end; None: it is not compared
    communicate: tuple[str, ...] = ()  # texts that the agent has to say to the user
    facts: Row = field(default_factory=dict)  # of the item: family, difficulty
    gold: tuple[str, ...] = ()  # actions that reach the goal, where the words are scripted

    @cached_property
    def profile_hash(self) -> str:
        """Hash of the user's profile, a part of each state's."""
        return digest(self.profile.model_dump())


class Store:
    """A database that tools read and write. What it held before a write stays as it was."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def rows(self, table: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the rows of a table by their keys."""
        return self.tables.get(table, {})

    def write(self, table: str, key: str, **cells: Any) -> None:
        """Set cells of a row, which is made where there is none."""
        row = {**self.rows(table).get(key, {}), **cells}
        self.tables = {**self.tables, table: {**self.rows(table), key: row}}


class DialogueDomain(Protocol):
    """A kind of dialogues."""

    @property
    def policy(self) -> str:
        """Rules for an agent, for rows that do not name any."""

    @property
    def classes(self) -> Classes:
        """How the last state is compared with the expected one."""

    @property
    def columns(self) -> Columns:
        """Columns that the tools read, with their types, by table."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Numbers of an episode that its grade has as components."""

    @property
    def forbidden(self) -> tuple[str, ...]:
        """Regular expressions of claims that the rule `compliance` forbids."""

    def tools(self, store: Store) -> Mapping[str, Tool]:
        """Return the agent's tools over a database."""

    def scenario(self, params: Any, seed: int) -> Scenario:
        """Return the scenario of a seed. Raises WrongParams."""


def as_expected(found: Tables, expected: Tables, classes: Classes) -> bool:
    """Return whether two databases have equal rows, each cell compared by the class of its column."""
    return all(_equal_tables(found.get(table, {}), expected.get(table, {}), classes.get(table, {}))
               for table in found.keys() | expected.keys())


def _equal_tables(
    found: Mapping[str, Mapping[str, Any]], expected: Mapping[str, Mapping[str, Any]],
    classes: Mapping[str, ColumnClass],
) -> bool:
    return found.keys() == expected.keys() and all(
        found[key] is row or _equal_rows(found[key], row, classes) for key, row in expected.items())


def _equal_rows(found: Mapping[str, Any], expected: Mapping[str, Any], classes: Mapping[str, ColumnClass]) -> bool:
    return all(_equal(found.get(column), expected.get(column), classes.get(column, "hard"))
               for column in found.keys() | expected.keys())


def _equal(found: Any, expected: Any, kind: ColumnClass) -> bool:
    if kind == "semantic":
        return semantic_equal(found, expected)
    return kind == "exempt" or hard_equal(found, expected)
