"""`hone health`, `hone usage`: how the services are and what was used."""

from typing import Annotated, Literal

import typer

from hone.cli import connection
from hone.cli.output import Json, rows


def health(json: Json = False) -> None:
    """Ask every service how it is; exit code 1 when one is not well."""
    with connection.client() as client:
        found = client.health()
    rows(found.services, ("name", "ok", "detail", "ms"), json)
    if not found.ok:
        raise typer.Exit(1)


def usage(
    by: Annotated[Literal["run", "key"], typer.Option(help="What the amounts are summed by.")] = "run",
    json: Json = False,
) -> None:
    """Sum tokens, seconds and grades by run or key."""
    with connection.client() as client:
        rows(client.usage(by), ("id", "name", "amounts"), json)
