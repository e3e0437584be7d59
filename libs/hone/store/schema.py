"""The schema of the database: `schema.sql`, as a whole, in an empty database."""

from importlib.resources import files

from psycopg import Connection
from psycopg.rows import DictRow, dict_row

from hone.store.sql import statement

VERSION = 27
"""The version of schema.sql. A change of the tables needs another one."""


class SchemaMismatch(Exception):
    """The database was made by another release, whose tables this one does not know. Use a new database."""


def text() -> str:
    """Return the statements that make the tables."""
    return files("hone.store").joinpath("schema.sql").read_text()


def ensure(url: str) -> bool:
    """Make the tables in the database at `url` if it is empty. Return whether they were made now.

    The role in `url` will own them. A second process waits until the first is done. Raises SchemaMismatch if the
    database has tables of another version, or psycopg.Error from the statement that failed; then nothing is made.
    """
    with Connection.connect(url, connect_timeout=10, row_factory=dict_row) as connection:
        connection.execute(statement("schema.lock"))
        found = version(connection)
        if found is None:
            connection.execute(text().encode())
            connection.execute(statement("schema.record_version"), {"version": VERSION})
        elif found != VERSION:
            raise SchemaMismatch(f"the database's schema: found version {found or 'unknown'}, expected {VERSION}; this "
                                 "release needs a new database")
        return found is None


def version(connection: Connection[DictRow]) -> int | None:
    """Return the version of the database's tables, 0 if they have none, None if there are no tables."""
    row = connection.execute(statement("schema.has_tables")).fetchone()
    if row is None or not row["tables"]:
        return None
    recorded = connection.execute(statement("schema.version")).fetchone() if row["version"] else None
    return recorded["version"] if recorded else 0
