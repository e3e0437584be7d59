"""`hone deletions`: what was deleted, and how far each deletion is."""

from itertools import islice

from hone.cli import connection
from hone.cli.nouns import Limit
from hone.cli.output import Json, rows
from hone.client import every
from hone.client.deletion_resources import Deletion


def deletions(
    limit: Limit = 50, json: Json = False,
) -> None:
    """List deletions, newest first, with the reason for which each waits."""
    with connection.client() as client:
        found = islice(every(client.deletions), limit)
        rows(found, ("id", "kind", "name", "state", "waits_for", "removed_rows", "requested_at", "finished_at"), json)


def line(found: Deletion) -> str:
    """Return the line about a deletion."""
    return f"{found.id}  {found.state}{f', waiting for {found.waits_for}' if found.waits_for else ''}"
