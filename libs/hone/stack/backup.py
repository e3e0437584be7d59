"""Backups: the database at one moment, and the objects that its rows name at that moment.

The database comes first. Rows name objects that are stored already, so every object of a dump exists when the dump is
made, and none is ever written again. While a backup is made, the stack keeps what its rows no longer name. An object
that goes away all the same, with an upload that is given up for instance, makes the backup begin again.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg.rows import dict_row

from hone.stack import postgres
from hone.store import objects, schema
from hone.store.objects import ObjectMissing, Objects
from hone.store.objects.directory import Directory
from hone.store.sql import statement

_DUMP, _OBJECTS, _LABEL = "database.dump", "objects", "backup.json"
_TRIES = 5
_ONE_AT_A_TIME = "-c lock_timeout=60s -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
"""Of the connection that holds deletions off: it gives up after a minute, and a dead one holds nothing for long."""
_HEAD_LINES, _NEWER = 50, b"SET transaction_timeout = 0;\n"  # pg_restore 18 writes it, servers before 17 refuse it
_MARKERS = "sweeps/"  # whose the store is: the database that may remove its orphans


class NoBackup(ValueError):
    """A directory holds no complete backup, or a backup that this release or this database cannot take."""


class Moving(Exception):
    """Objects went away before they were copied, again and again, or another backup is being made."""


class DumpFailed(Exception):
    """pg_dump or pg_restore ended with an error; the message holds the last line with an error."""


@dataclass(frozen=True)
class Label:
    """Describes a backup: when its dump was made, the version of the tables, and its objects."""

    made_at: str
    schema: int
    objects: int


def save(owner_url: str, objects_url: str, folder: Path) -> Label:
    """Make a backup in `folder`. An older one there is renewed: objects that it has are not copied again.

    Raises SchemaMismatch unless the tables have this release's version, Moving, DumpFailed, StoreAway,
    psycopg.OperationalError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _expect_current(owner_url)
    with deletions_held_off(owner_url):
        return _saved(owner_url, objects_url, folder)


def _expect_current(owner_url: str) -> None:
    with psycopg.connect(owner_url, row_factory=dict_row) as connection:
        schema.expect_current(connection)


@contextmanager
def deletions_held_off(owner_url: str) -> Iterator[None]:
    """Have trainers and drivers keep objects that no row names any more. Raises Moving while another backup does so."""
    with psycopg.connect(owner_url, autocommit=True, options=_ONE_AT_A_TIME) as connection:
        try:
            connection.execute(statement("backups.hold_deletions"))
        except psycopg.errors.LockNotAvailable:
            raise Moving("another backup of this database is being made: wait for its end, and try again") from None
        yield


def _saved(owner_url: str, objects_url: str, folder: Path) -> Label:
    source, copies = objects.connect(objects_url), Directory(folder / _OBJECTS)
    for _ in range(_TRIES):
        (folder / _LABEL).unlink(missing_ok=True)  # the label comes last: without it there is no backup
        made_at, named = datetime.now(UTC), _dumped(owner_url, folder / _DUMP)
        if _copied([*named, *source.list(_MARKERS)], source, copies):
            label = Label(made_at.isoformat(timespec="seconds"), schema.VERSION, len(named))
            (folder / _LABEL).write_text(json.dumps(asdict(label)) + "\n")
            return label
    raise Moving(f"objects were deleted before they were copied, {_TRIES} times: pause the runs, and try again")


def restore(owner_url: str, objects_url: str, folder: Path) -> Label:
    """Bring a backup back into a prepared database without work, and into its object store. No service may run.

    Tables of an older release are upgraded then. Raises NoBackup, DumpFailed, MigrationFailed, StoreAway,
    psycopg.OperationalError.
    """
    label = read(folder)
    with psycopg.connect(owner_url, row_factory=dict_row) as connection:
        if (connection.execute(statement("backups.holds_work")).fetchone() or {})["found"]:
            raise NoBackup("the database has runs, models or data: restore into a new database")
    target, copies = objects.connect(objects_url), Directory(folder / _OBJECTS)
    target.delete(list(target.list(_MARKERS)))
    for key in copies.list(""):
        target.put(key, folder / _OBJECTS / key)
    _fill(owner_url, folder / _DUMP)
    schema.ensure(owner_url)
    return label


def read(folder: Path) -> Label:
    """Return the label of the backup in a folder. Raises NoBackup."""
    try:
        label = Label(**json.loads((folder / _LABEL).read_text()))
    except (OSError, ValueError, TypeError):
        raise NoBackup(f"{folder} holds no complete backup ({_LABEL} is written last)") from None
    if not schema.BASELINE <= label.schema <= schema.VERSION:
        raise NoBackup(f"{folder} has tables of version {label.schema}, this release takes versions "
                       f"{schema.BASELINE} to {schema.VERSION}")
    return label


def _dumped(owner_url: str, file: Path) -> list[str]:
    """Write the dump, and return the keys of the objects that its rows name."""
    with psycopg.connect(owner_url, row_factory=dict_row) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        snapshot = (connection.execute(statement("backups.export_snapshot")).fetchone() or {})["id"]
        unfinished = file.with_suffix(".new")
        _run("pg_dump", owner_url, "--format=custom", "--no-owner", f"--snapshot={snapshot}", f"--file={unfinished}")
        named = [row["key"] for row in connection.execute(statement("backups.named")) if row["key"]]
    unfinished.replace(file)
    return named


def _copied(named: Iterable[str], source: Objects, copies: Objects) -> bool:
    """Copy what is not there yet and delete what is not named. Return False if an object is gone."""
    wanted, there = set(named), set(copies.list(""))
    copies.delete(there - wanted)
    try:
        for key in sorted(wanted - there):
            copies.put(key, source.read(key))
    except ObjectMissing:
        return False
    return True


def _fill(owner_url: str, dump: Path) -> None:
    """Replace the tables by those of a dump, as a whole. Newer tables, which the dump lacks, go too."""
    script = _started("pg_restore", "", "--no-owner", "--file=-", str(dump))
    tables = _started("psql", owner_url, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
                      f"--set=names={' '.join(schema.names())}", "--output=/dev/null")
    with script, tables:
        assert script.stdout
        assert tables.stdin
        with suppress(BrokenPipeError):  # psql says why it ended
            tables.stdin.write(statement("backups.clear").encode() + b";\n")
            tables.stdin.writelines(line for line in islice(script.stdout, _HEAD_LINES) if line != _NEWER)
            shutil.copyfileobj(script.stdout, tables.stdin)
            tables.stdin.close()
        _expect_well("psql", tables)
        _expect_well("pg_restore", script)


def _run(program: str, url: str, *arguments: str) -> None:
    with _started(program, url, *arguments) as running:
        _expect_well(program, running)


def _started(program: str, url: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start a program of PostgreSQL. The password is in its environment, which other users cannot read."""
    parts = urlsplit(url)
    user, _, place = parts.netloc.rpartition("@")
    plain = urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{place}"))
    environment = {
        **os.environ, "PGPASSWORD": unquote(parts.password or ""), "PGOPTIONS": "-c client_min_messages=warning"}
    return subprocess.Popen(
        [postgres.program(program), *arguments, *([f"--dbname={plain}"] if url else [])], env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _expect_well(program: str, running: "subprocess.Popen[bytes]") -> None:
    assert running.stderr
    said = running.stderr.read().decode(errors="replace").strip().splitlines()
    if running.wait():
        errors = [line for line in said if "ERROR" in line or "error" in line]  # its context may come after it
        raise DumpFailed(f"{program}: {(errors or said or ['it said nothing'])[-1]}")
