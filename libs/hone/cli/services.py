"""`hone health`, `hone usage`: the health of the services, and the usage of runs and keys."""

from typing import Annotated, Literal

import typer

from hone.cli import connection
from hone.cli.output import Json, rows


def health(json: Json = False) -> None:
    """Check every service. The exit code is 1 if one is not well."""
    with connection.client() as client:
        found = client.health()
    rows(found.services, ("name", "ok", "detail", "ms"), json)
    if not found.ok:
        raise typer.Exit(1)


def usage(
    by: Annotated[Literal["run", "key"], typer.Option(help="Sum amounts by run or by key.")] = "run",
    json: Json = False,
) -> None:
    """Sum tokens, seconds and grades by run or key."""
    with connection.client() as client:
        rows(client.usage(by), ("id", "name", "cost", "amounts"), json)
