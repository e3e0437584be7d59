"""`hone graders`: graders under a name, and a grader tried on one answer."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Commands, Json, one, rows, say
from hone.cli.runs import Limit
from hone.client import every
from hone.spec.files import read

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Graders under a name, and a grader tried on one answer.")

Name = Annotated[str, typer.Argument(help='Name of the grader; specs have {"type": "stored", "name": NAME}.')]
GraderFile = Annotated[Path, typer.Argument(metavar="GRADER", help="YAML or JSON file with a grader.")]


@app.command()
def add(name: Name, grader: GraderFile, json: Json = False) -> None:
    """Check a grader and store it under a name, which means this one from now on."""
    with connection.client() as client:
        one(client.add_grader(name, read(grader)), json)


@app.command()
def stored(limit: Limit = 50, json: Json = False) -> None:
    """List the names with what each means now."""
    with connection.client() as client:
        found = islice(every(client.stored_graders), limit)
        rows(found, ("name", "hash", "created_at"), json)


@app.command()
def show(name: Name, hash: Annotated[str | None, typer.Option(help="Of a certain content.")] = None) -> None:
    """Show the grader that a name means."""
    with connection.client() as client:
        one(client.stored_grader(name, hash), as_json=True)


@app.command()
def delete(name: Name) -> None:
    """Delete a name with all that it meant. Runs keep their graders."""
    with connection.client() as client:
        one(client.delete_grader(name), as_json=False)


@app.command("try")
def tried(
    grader: GraderFile, answer: Annotated[str, typer.Argument(help="The answer to grade.")],
    item: Annotated[Path | None, typer.Option(help="YAML or JSON file with the row.")] = None,
) -> None:
    """Grade one answer and store nothing. It prints OpenAI's JSON."""
    with connection.client() as client:
        say(client.try_grader(read(grader), answer, read(item) if item else {}).model_dump_json())
