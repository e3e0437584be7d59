"""`hone health`, `hone usage`, `hone storage`: the health of services, the usage of runs and keys, what is stored."""

from itertools import islice
from typing import Annotated, Literal

import typer

from hone.cli import connection
from hone.cli.moments import Since, Until, moment
from hone.cli.nouns import Limit
from hone.cli.output import Json, cell, rows, say, table
from hone.client import every


def health(json: Json = False) -> None:
    """Check every service. The exit code is 1 if a service is not well."""
    with connection.client() as client:
        found = client.health()
    rows(found.services, ("name", "ok", "detail", "ms"), json)
    if not found.ok:
        raise typer.Exit(1)


def usage(
    by: Annotated[Literal["run", "key"], typer.Option(help="Sum amounts by run or by key.")] = "run",
    since: Since = None, until: Until = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """Sum tokens, seconds and grades by run or key, the newest first."""
    with connection.client() as client:
        found = every(client.usage, by=by, since=moment("--since", since), until=moment("--until", until))
        rows(islice(found, limit), ("id", "name", "cost", "amounts"), json)


def storage(
    limit: Annotated[int, typer.Option(min=1, max=500, help="Largest number of items.")] = 50, json: Json = False,
) -> None:
    """Show the storage: the sum, and the largest runs, models and datasets."""
    with connection.client() as client:
        found = client.storage(limit)
    rows(found.items, ("bytes", "objects", "kind", "id", "name", "measured_at"), json)
    if not json:
        say(f"{found.bytes} bytes in {found.objects} objects")


def retention(
    next: Annotated[bool, typer.Option("--next", help="List the objects that are deleted next.")] = False,
    json: Json = False,
) -> None:
    """Show the stored data by kind, how long it is kept, and how much of it is past its time."""
    with connection.client() as client:
        found = client.retention()
    if json or not next:
        rows(found, ("kind", "items", "bytes", "due", "setting", "kept"), json)
        return
    table(("due_at", "kind", "id", "name"), [
        (cell(one.due_at), kind.kind, one.id, one.name)
        for one, kind in sorted(((one, kind) for kind in found for one in kind.next), key=lambda pair: pair[0].due_at)])
