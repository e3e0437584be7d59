"""The tables of the database: `schema.sql` in an empty database, then each migration that it lacks, in order.

schema.sql has version 27 and does not change any more. A change of the tables is a new file `migrations/NNN.sql`, whose
number is the new version. New and upgraded databases run the same files, so they have the same tables.
"""

import re
from dataclasses import dataclass
from importlib.resources import files

from psycopg import Connection, Error, OperationalError
from psycopg.rows import DictRow, dict_row

from hone.store.sql import statement

BASELINE = 27
"""The version of schema.sql, the oldest that can be upgraded."""

_MIGRATIONS = files("hone.store").joinpath("migrations")

VERSION = max(int(file.name.removesuffix(".sql")) for file in _MIGRATIONS.iterdir() if file.name.endswith(".sql"))
"""The version of this release's tables: the number of the last migration."""

_WAITS = "-c lock_timeout=15s"
"""An upgrade that waits longer for a lock gives up: everybody else who wants that table waits behind it."""


_MADE = re.compile(r"^CREATE (?:OR REPLACE )?(?:TABLE|VIEW|FUNCTION) (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)


class SchemaMismatch(Exception):
    """The database's tables have a version that this release cannot use; the message says both, and how to go on."""


class MigrationFailed(Exception):
    """A migration was refused by the database and changed nothing; the message names it and says why."""


@dataclass(frozen=True)
class Upgrade:
    """The version of the tables before, None if there were none, and now."""

    before: int | None
    now: int

    def __str__(self) -> str:
        if self.before is None:
            return "the tables were made now"
        if self.before == self.now:
            return "the tables existed already"
        return f"the tables were upgraded from version {self.before} to {self.now}"


def baseline() -> str:
    """Return the statements that make the tables of version `BASELINE`."""
    return files("hone.store").joinpath("schema.sql").read_text()


def migration(number: int) -> str:
    """Return the statements that make version `number` of the tables before it. Raises FileNotFoundError."""
    return _MIGRATIONS.joinpath(f"{number:03}.sql").read_text()


def names() -> list[str]:
    """Return the names of all tables, views and functions that this release's files make."""
    text = "\n".join([baseline(), *map(migration, range(BASELINE + 1, VERSION + 1))])
    return sorted(set(_MADE.findall(text)))


def title(number: int) -> str:
    """Return the first line of a migration, which says for people why it is there."""
    return migration(number).partition("\n")[0].removeprefix("-- ")


def ensure(url: str) -> Upgrade:
    """Give the database at `url` the tables of this release: make them, or upgrade older tables.

    The role in `url` has to own them. Each migration is a transaction of its own; a second process waits for it, and
    then does the next. Raises SchemaMismatch for tables that cannot be upgraded, MigrationFailed, and OperationalError
    while the database or a table's lock is not to be had; the migrations before that stay done.
    """
    with Connection.connect(
            url, connect_timeout=10, autocommit=True, row_factory=dict_row, options=_WAITS) as connection:
        before = found = _advance(connection)
        while found != VERSION:
            found = _advance(connection)
    return Upgrade(before, VERSION)


def expect_current(connection: Connection[DictRow]) -> None:
    """Raise SchemaMismatch unless the tables have this release's version."""
    found = version(connection)
    _expect_upgradable(found)
    if found != VERSION:
        raise SchemaMismatch(
            f"the database has {'no tables' if found is None else f'tables of version {found}'}, this release needs "
            f"version {VERSION}: run `hone prepare` with the owner's URL, or `hone up` for a stack on one machine")


def version(connection: Connection[DictRow]) -> int | None:
    """Return the version of the database's tables, 0 if they have none, None if there are no tables."""
    row = connection.execute(statement("schema.has_tables")).fetchone()
    if row is None or not row["tables"]:
        return None
    if row["version"] and not row["readable"]:
        return BASELINE  # gateways may read it from 28 on
    recorded = connection.execute(statement("schema.version")).fetchone() if row["version"] else None
    return recorded["version"] if recorded else 0


def _advance(connection: Connection[DictRow]) -> int | None:
    """Make the next change, if there is any. Return the version that was found, None if there were no tables."""
    with connection.transaction():
        connection.execute(statement("schema.lock"))
        found = version(connection)
        _expect_upgradable(found)
        if found is None:
            connection.execute(baseline().encode())
            connection.execute(statement("schema.record_version"), {"version": BASELINE})
        elif found < VERSION:
            _migrate(connection, found + 1)
    return found


def _migrate(connection: Connection[DictRow], number: int) -> None:
    try:
        connection.execute(migration(number).encode())
        connection.execute(statement("schema.upgrade_version"), {"version": number})
    except OperationalError:
        raise
    except Error as error:
        raise MigrationFailed(
            f"migration {number:03} ({title(number)}) changed nothing: {str(error).strip()}") from error


def _expect_upgradable(found: int | None) -> None:
    if found is not None and found > VERSION:
        raise SchemaMismatch(
            f"the database has tables of version {found}, this release knows versions up to {VERSION}: use the release "
            "that upgraded them, or a newer one")
    if found is not None and found < BASELINE:
        raise SchemaMismatch(
            f"the database has tables of {f'version {found}' if found else 'no known version'}, this release upgrades "
            f"versions from {BASELINE} on: it needs a new database")
