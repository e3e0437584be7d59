"""`hone keys`: API keys. These commands use the database directly, not REST."""

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hone import keys
from hone.cli import connection
from hone.cli.output import Commands, Json, cell, say, table

app = typer.Typer(
    cls=Commands, no_args_is_help=True, help="API keys. These commands use the database directly.")

Place = Annotated[Path | None, typer.Option(
    "--state", metavar="DIR",
    help="State directory of the stack; HONE_DATABASE_URL, HONE_STATE or ./.hone by default.")]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the key: the person or program that uses it.")],
    tenant: Annotated[str, typer.Option(
        metavar="NAME", help="Tenant whose runs, models and data the key can use; it is made if missing."),
    ] = keys.DEFAULT_TENANT,
    state: Place = None, json: Json = False,
) -> None:
    """Create a key and show it once: `hone keys create laptop --tenant research`."""
    database = connection.database(state)
    try:
        key = keys.create(database, name, tenant)
    finally:
        database.close()
    say(json_text.dumps(asdict(key)) if json else key.secret)


@app.command("list")
def listed(state: Place = None, json: Json = False) -> None:
    """List the keys of every tenant. Only the hash of a key is stored."""
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
    key: Annotated[str, typer.Argument(help="Id of a key, or the prefix that `list` shows.")], state: Place = None,
) -> None:
    """Revoke a key: the gateway refuses it from now on."""
    database = connection.database(state)
    try:
        known = keys.revoke(database, key)
    finally:
        database.close()
    if not known:
        raise connection.Unconfigured(f"there is no key {key} (`hone keys list`)")
    say(f"{key} is revoked")
