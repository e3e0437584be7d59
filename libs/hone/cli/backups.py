"""`hone backup`, `hone restore`: of the stack on this machine, or of the servers that HONE_* variables name."""

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.spec import settings
from hone.stack import backup as backups
from hone.stack import deployment, embedded, lock
from hone.stack.backup import DumpFailed, Moving
from hone.stack.embedded import Stack, StackNotReady
from hone.stack.lock import StackRunning
from hone.stack.postgres import DataOfAnother, PostgresMissing
from hone.stack.processes import KINDS
from hone.stack.record import StackMissing, load
from hone.store.schema import MigrationFailed, SchemaMismatch

_MISTAKES = (
    ValueError, Moving, DumpFailed, StackMissing, StackNotReady, StackRunning, DataOfAnother, PostgresMissing,
    SchemaMismatch, MigrationFailed,
)
_TIMEOUT_S = 120.0

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the backup.")]
State = Annotated[Path | None, typer.Option(
    metavar="DIR", help="State directory of the stack; HONE_OWNER_DATABASE_URL, HONE_STATE or ./.hone by default.")]


def backup(folder: Folder, state: State = None) -> None:
    """Save the database and every object that it names. The stack may run; a backup in DIR is renewed."""
    owner = _owner(state)
    place = (state or connection.state()).resolve()
    try:
        if owner:
            made = backups.save(owner, settings.load().objects_url, folder)
        else:
            kept = load(place)
            with nullcontext() if lock.holder(place) else _servers(place):
                made = backups.save(embedded.owner_url(place), kept.objects_url, folder)
    except _MISTAKES as error:
        raise connection.Unconfigured(str(error)) from error
    typer.echo(f"{made.objects} objects and the database of {made.made_at} are in {folder}")


def restore(folder: Folder, state: State = None) -> None:
    """Bring a backup back into a stack that has no runs, models or data and does not run. `hone up` then goes on."""
    owner = _owner(state)
    try:
        backups.read(folder)
        if owner:
            chosen = settings.load()
            deployment.prepare(chosen, owner, _TIMEOUT_S)
            made = backups.restore(owner, chosen.objects_url, folder)
        else:
            with _servers((state or connection.state()).resolve()) as stack:
                made = backups.restore(embedded.owner_url(stack.state), stack.record().objects_url, folder)
    except _MISTAKES as error:
        raise connection.Unconfigured(str(error)) from error
    typer.echo(f"{made.objects} objects and the database of {made.made_at} are back")


def _servers(place: Path) -> Stack:
    """Return the stack without any process of ours: PostgreSQL, if it is the stack's own."""
    return Stack(place, counts=dict.fromkeys(KINDS, 0))


def _owner(state: Path | None) -> str:
    return "" if state else settings.resolved(os.environ).get("HONE_OWNER_DATABASE_URL", "")
