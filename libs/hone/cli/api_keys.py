"""`hone keys`: made where the database is reached directly, not over REST."""

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hone import keys
from hone.cli import connection
from hone.cli.failures import Commands
from hone.cli.output import Json, cell, say, table

app = typer.Typer(
    cls=Commands, no_args_is_help=True, help="API keys; made where the database is reached directly.")

Place = Annotated[Path | None, typer.Option(
    "--state", metavar="DIR", help="The stack's state directory; without it HONE_DATABASE_URL, HONE_STATE or ./.hone.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Whom or what it is for.")],
    tenant: Annotated[str, typer.Option(
        metavar="NAME", help="Whose runs, models and data the key reaches; made where missing.")] = keys.DEFAULT_TENANT,
    state: Place = None, json: Json = False,
) -> None:
    """Make a key and show it, once: `hone keys create laptop --tenant research`."""
    database = connection.database(state)
    try:
        key = keys.create(database, name, tenant)
    finally:
        database.close()
    say(json_text.dumps(asdict(key)) if json else key.secret)


@app.command("list")
def listed(state: Place = None, json: Json = False) -> None:
    """List keys of every tenant; what is stored of a key is its hash."""
    database = connection.database(state)
    try:
        found = keys.listed(database)
    finally:
        database.close()
    if json:
        for key in found:
            say(json_text.dumps(asdict(key), default=str))
        return
    columns = ("id", "name", "prefix", "tenant", "created_at", "revoked_at")
    table(columns, ([cell(getattr(key, column)) for column in columns] for key in found))


@app.command()
def revoke(
    key: Annotated[str, typer.Argument(help="A key's id, or the beginning that `list` shows.")], state: Place = None,
) -> None:
    """Refuse a key from now on."""
    database = connection.database(state)
    try:
        known = keys.revoke(database, key)
    finally:
        database.close()
    if not known:
        raise connection.Unconfigured(f"there is no key {key} (`hone keys list`)")
    say(f"{key} is refused from now on")
