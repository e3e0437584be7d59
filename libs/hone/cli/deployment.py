"""`hone prepare`: the servers of a deployment made ready, once before its services start."""

import os
from typing import Annotated

import typer
from psycopg import OperationalError

from hone.cli.output import say
from hone.spec import settings
from hone.stack import deployment
from hone.stack.provision import RoleRefused
from hone.store.objects import StoreAway
from hone.store.schema import SchemaMismatch

_OWNER = "HONE_OWNER_DATABASE_URL"
_MISTAKES = (OperationalError, RoleRefused, SchemaMismatch, StoreAway, PermissionError, ValueError)


def prepare(
    timeout: Annotated[float, typer.Option(help="Seconds the database has to answer.")] = 60.0,
) -> None:
    """Make the servers that HONE_* variables name ready: schema, logins, bucket. Done again it changes nothing."""
    try:
        made = deployment.prepare(settings.load(), os.environ.get(_OWNER, ""), timeout)
    except _MISTAKES as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None
    say(f"ready; the tables {'were made now' if made else 'were there'}")
