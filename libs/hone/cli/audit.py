"""`hone audit`: who changed what."""

from itertools import islice
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.moments import Since, Until, moment
from hone.cli.nouns import Limit
from hone.cli.output import Json, rows
from hone.client import every

_COLUMNS = ("created_at", "key", "action", "subject", "address", "request_id")

Action = Annotated[str | None, typer.Option(help="Only actions that begin so: runs.create, runs.")]
Subject = Annotated[str | None, typer.Option(help="Only objects with this id, or with this part of an id.")]
Key = Annotated[str | None, typer.Option(help="Only requests of the key with this id, name or prefix.")]
Address = Annotated[str | None, typer.Option(help="Only requests from addresses that begin so.")]
Search = Annotated[str | None, typer.Option(help="Only entries with this text in any column.")]


def audit(
    action: Action = None, subject: Subject = None, key: Key = None, address: Address = None, search: Search = None,
    since: Since = None, until: Until = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List the requests that changed something, newest first."""
    with connection.client() as client:
        found = every(client.audit, action=action, subject=subject, key=key, address=address, search=search,
                      since=moment("--since", since), until=moment("--until", until))
        rows(islice(found, limit), _COLUMNS, json)
