"""`hone health`, `hone usage`, `hone storage`: the health of services, the usage of runs and keys, what is stored."""

from typing import Annotated, Literal

import typer

from hone.cli import connection
from hone.cli.output import Json, rows, say


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


def storage(
    limit: Annotated[int, typer.Option(min=1, max=500, help="Largest number of items.")] = 50, json: Json = False,
) -> None:
    """Show what is stored: the sum, and the largest runs, models and datasets."""
    with connection.client() as client:
        found = client.storage(limit)
    rows(found.items, ("bytes", "objects", "kind", "id", "name", "measured_at"), json)
    if not json:
        say(f"{found.bytes} bytes in {found.objects} objects")
