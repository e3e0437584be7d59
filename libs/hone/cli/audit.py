"""`hone audit`: who changed what."""

from datetime import UTC, datetime
from itertools import islice
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Json, rows
from hone.client import every

_COLUMNS = ("created_at", "key", "action", "subject", "address", "request_id")


def audit(
    action: Annotated[str | None, typer.Option(help="Only actions with this part: runs.create, or runs.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only what was made or changed with this part of an id.")] = None,
    key: Annotated[str | None, typer.Option(help="Only requests of the key with this id.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only from this time of UTC on.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Largest number of items.")] = 50, json: Json = False,
) -> None:
    """List the requests that changed something, newest first."""
    moment = since and since.replace(tzinfo=UTC)
    with connection.client() as client:
        found = islice(every(client.audit, action=action, subject=subject, key_id=key, since=moment), limit)
        rows(found, _COLUMNS, json)
