"""Brings a database to the newest schema: every `.sql` file of `migrations/`, once, in order of name."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from psycopg import Connection

from hone.store.sql import statement


class MigrationChanged(Exception):
    """A migration that this database has applied reads differently now, so its schema cannot be known."""


@dataclass(frozen=True)
class Migration:
    """One file: its name, its text, and the digest that tells whether the text is still the one applied."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def available() -> list[Migration]:
    """Return every migration this release knows, in the order they are applied."""
    found = (path for path in files("hone.store").joinpath("migrations").iterdir() if path.name.endswith(".sql"))
    return sorted((Migration(path.name, path.read_text()) for path in found), key=lambda one: one.name)


def apply(url: str) -> list[str]:
    """Apply what the database at `url` lacks, each file in a transaction of its own, and return their names.

    Whoever comes second waits for the first and finds nothing to do. The role in `url` will own the tables.
    Raises MigrationChanged, or psycopg.Error from the statement that failed.
    """
    with Connection.connect(url, autocommit=True, connect_timeout=10) as connection:
        connection.execute(statement("migration.lock"))
        connection.execute(statement("migration.ensure_table"))
        missing = _missing(available(), dict(connection.execute(statement("migration.applied")).fetchall()))
        for migration in missing:
            _apply(connection, migration)
    return [migration.name for migration in missing]


def _missing(known: list[Migration], applied: dict[str, str]) -> list[Migration]:
    for migration in known:
        if applied.get(migration.name, migration.sha256) != migration.sha256:
            raise MigrationChanged(f"{migration.name} was applied with other text; migrations are added, never edited")
    return [migration for migration in known if migration.name not in applied]


def _apply(connection: Connection, migration: Migration) -> None:
    with connection.transaction():
        connection.execute(migration.text)
        connection.execute(
            statement("migration.record"), {"name": migration.name, "sha256": migration.sha256})
