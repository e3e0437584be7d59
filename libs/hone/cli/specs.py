"""`hone train` and `hone validate`: from a file to a run."""

from pathlib import Path
from typing import Annotated

import typer
import yaml

from hone.cli import connection, progress
from hone.cli.output import Json, one, say
from hone.resolution import resolve
from hone.spec.files import as_json, read

Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="YAML or JSON file with a run spec.")]


def train(
    spec: Spec,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the resolved spec and stop.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Show the run until it has ended.")] = False,
    json: Json = False,
) -> None:
    """Create a run from its spec."""
    raw = read(spec)
    resolved = as_json(resolve(raw))
    if dry_run:
        say(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True).rstrip())
        return
    with connection.client() as client:
        run = client.create_run(raw)
        if follow:
            run = progress.follow(client, run.id)
    if json:
        one(run, as_json=True)
    else:
        say(f"{run.id}  {run.state}{f': {run.reason}' if run.reason else ''}")
    if follow and run.state != "succeeded":
        raise typer.Exit(1)


def validate(spec: Spec) -> None:
    """Say everything that is wrong with a spec, without a server.

    Whether the models and datasets it names exist is the gateway's to say.
    """
    resolve(read(spec))
    say(f"{spec}: valid")
