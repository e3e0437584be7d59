"""`hone keys`: API keys and their scopes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, cast

import typer

from hone import keys
from hone.cli import connection, nouns
from hone.cli.output import Commands, Json, say
from hone.scopes import Scope

app = typer.Typer(cls=Commands, no_args_is_help=True, help="API keys and what they may do.")

Scopes = Annotated[list[str] | None, typer.Option(
    "--scope", help="read, run or admin; admin includes run, and run includes read. By default read and run.")]



@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the key: the person or program that uses it.")],
    scope: Scopes = None,
    days: Annotated[float | None, typer.Option(min=0, help="Days until it expires; without this, never.")] = None,
    json: Json = False,
) -> None:
    """Make a key and show it once: `hone keys create laptop --scope run`. Its scopes are read and run by default."""
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with connection.client() as client:
        key = client.create_key(name, cast(list[Scope], scope) or ("read", "run"), expires_at)
    say(key.model_dump_json() if json else key.secret)


nouns.add_list(app, "keys")


@app.command()
def revoke(key: Annotated[str, typer.Argument(help="Id of a key, or the prefix that `list` shows.")]) -> None:
    """Revoke a key: it is refused from now on."""
    with connection.client() as client:
        revoked = client.revoke_key(key)
    say(f"{revoked.id} is revoked")


@app.command()
def first(
    name: Annotated[str, typer.Argument(help="Name of the key.")] = "first",
    tenant: Annotated[str, typer.Option(
        metavar="NAME", help="Tenant of the key; it is made if missing. The first tenant of a stack is its operator."),
    ] = keys.DEFAULT_TENANT,
    state: Annotated[Path | None, typer.Option(
        metavar="DIR", help="State directory of the stack; HONE_DATABASE_URL, HONE_STATE or ./.hone by default."),
    ] = None,
    json: Json = False,
) -> None:
    """Make an admin key in the database itself: the first of a stack, or another for who has lost theirs."""
    database = connection.database(state)
    try:
        key = keys.create(database, name, tenant)
    finally:
        database.close()
    say(f'{{"id": "{key.id}", "secret": "{key.secret}"}}' if json else key.secret)
