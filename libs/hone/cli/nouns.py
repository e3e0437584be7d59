"""Commands that most nouns have alike: `list` and `delete`, from a table. A module adds them where they belong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from hone.cli import connection
from hone.cli.output import Json, one, rows
from hone.client import Client, every
from hone.client.resources import Page

Limit = Annotated[int, typer.Option(min=1, help="Largest number of items.")]


@dataclass(frozen=True)
class ListCommand:
    """A command that lists a noun: the method of the SDK, the columns, the help."""

    pages: Callable[[Client], Callable[..., Page[Any]]]
    columns: str  # names of fields
    help: str
    limit: int = 50


@dataclass(frozen=True)
class DeleteCommand:
    """A command that deletes a noun and prints its last state: the method of the SDK, the help, the argument."""

    method: Callable[[Client], Callable[[str], BaseModel]]
    help: str
    argument: str  # its help
    metavar: str = "name"


LISTS: Mapping[str, ListCommand] = {
    "audience fits": ListCommand(
        lambda hone: hone.audience_fits, "id dataset state created_at reason", "List fits, the newest first."),
    "datasets": ListCommand(
        lambda hone: hone.datasets, "id name rows columns bytes created_at", "List datasets, newest first."),
    "judges": ListCommand(
        lambda hone: hone.judges, "name url model secret", "List judges."),
    "keys": ListCommand(
        lambda hone: hone.keys, "id name prefix scopes created_at expires_at last_used_at revoked_at",
        "List the tenant's keys, newest first. Only the hash of a key is stored."),
    "knowledge": ListCommand(
        lambda hone: hone.stored_knowledge, "name version environment texts tasks run_id step created_at",
        "List names with the newest version of each."),
    "models": ListCommand(
        lambda hone: hone.models, "id name architecture parameters dtype bytes created_at",
        "List base models, newest first."),
    "package jobs": ListCommand(
        lambda hone: hone.package_jobs, "id environment name state stage hint reason created_at",
        "List what is made from hints or was, the newest first: packages, tasks of the desk, lives.", limit=20),
    "packages": ListCommand(
        lambda hone: hone.packages, "name version domain tasks digest created_at",
        "List the packages that were added, each name with what it means now."),
    "routes": ListCommand(
        lambda hone: hone.routes, "name objective exploration candidates",
        "List the routes that were set; `auto` is there without being set."),
    "secrets": ListCommand(
        lambda hone: hone.secrets, "name updated_at", "List the names of secrets."),
    "stored graders": ListCommand(
        lambda hone: hone.stored_graders, "name hash created_at", "List the names with what each means now."),
    "tenants": ListCommand(
        lambda hone: hone.tenants,
        "id name operator suspended_at max_runs max_tokens_a_day max_stored_bytes month_budget created_at",
        "List all tenants with their quotas, newest first."),
    "uploads": ListCommand(
        lambda hone: hone.uploads, "id kind name state sent bytes reason created_at expires_at",
        "List uploads in parts, newest first: those that are open, and those that ended lately."),
}
"""Lists by noun, as the gateway's routes declare it."""

DELETIONS: Mapping[str, DeleteCommand] = {
    "audience fits": DeleteCommand(
        lambda hone: hone.delete_audience_fit, "Delete a fit with all that it said.", "Id of a fit.", "fit"),
    "judges": DeleteCommand(
        lambda hone: hone.delete_judge, "Delete a judge. Samples of runs that still ask it are masked.",
        "Name of the judge; graders call it in their field model."),
    "knowledge": DeleteCommand(
        lambda hone: hone.delete_knowledge, "Delete a name with all its versions.",
        "Name; specs have it in harness.params.store, as NAME or NAME@VERSION."),
    "packages": DeleteCommand(
        lambda hone: hone.delete_package, "Delete a package with all its versions, unless an open run plays one.",
        "Name of the package; specs have it in params.package."),
    "routes": DeleteCommand(
        lambda hone: hone.delete_route, "Delete a route with its decisions and what was said of them.",
        "Name of the route; clients ask it as hone/NAME."),
    "secrets": DeleteCommand(
        lambda hone: hone.delete_secret, "Delete a secret. Judges that need it fail until it is set again.",
        "Name of the secret; judges call it in their field secret."),
    "stored graders": DeleteCommand(
        lambda hone: hone.delete_grader, "Delete a name with all that it meant. Runs keep their graders.",
        'Name of the grader; specs have {"type": "stored", "name": NAME}.'),
}
"""Deletions by noun."""


def add_list(app: typer.Typer, noun: str, command: str = "list") -> None:
    """Add the command that lists a noun."""
    shown = LISTS[noun]

    @app.command(command, help=shown.help)
    def listed(limit: Limit = shown.limit, json: Json = False) -> None:
        with connection.client() as client:
            rows(islice(every(shown.pages(client)), limit), shown.columns.split(), json)


def add_delete(app: typer.Typer, noun: str) -> None:
    """Add the command that deletes a noun."""
    deleted = DELETIONS[noun]
    argument = typer.Argument(help=deleted.argument, metavar=deleted.metavar)

    @app.command("delete", help=deleted.help)
    def delete(name: Annotated[str, argument]) -> None:
        with connection.client() as client:
            one(deleted.method(client)(name), as_json=False)
