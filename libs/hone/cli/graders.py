"""`hone graders`: graders under a name, a grader tried on one answer, and graders measured on labelled outputs."""

import time
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from hone.cli import checks, connection, nouns
from hone.cli.nouns import Limit
from hone.cli.output import Commands, Json, one, say
from hone.client import every
from hone.spec.files import read

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Graders under a name, tried or measured.")

_LOOK_S = 0.5

Name = Annotated[str, typer.Argument(help=nouns.DELETIONS["stored graders"].argument)]
GraderArgument = Annotated[str, typer.Argument(
    metavar="GRADER", help="YAML or JSON file with a grader, or the name of a stored grader.")]
GraderFile = Annotated[Path, typer.Argument(metavar="GRADER", help="YAML or JSON file with a grader.")]


@app.command()
def add(name: Name, grader: GraderFile, json: Json = False) -> None:
    """Check a grader and store it as the newest version of a name."""
    with connection.client() as client:
        one(client.add_grader(name, read(grader)), json)


nouns.add_list(app, "stored graders", "stored")


@app.command()
def show(name: Name, hash: Annotated[str | None, typer.Option(help="Of a certain content.")] = None) -> None:
    """Show the grader that a name means."""
    with connection.client() as client:
        one(client.stored_grader(name, hash), as_json=True)


nouns.add_delete(app, "stored graders")


@app.command()
def check(
    grader: GraderArgument,
    set: Annotated[str, typer.Option("--set", help="short_answers, or dataset:NAME of a dataset of yours.")] =
    "short_answers",
    json: Json = False,
) -> None:
    """Measure a grader on outputs with labels: how many right and wrong outputs it accepts, by kind."""
    with connection.client() as client:
        asked = client.check_grader(_given(grader), set)
        while not asked.ended:
            time.sleep(_LOOK_S)
            asked = client.grader_check(asked.id)
        checks.show(asked, json)
        raise typer.Exit(asked.state == "failed")


@app.command("checks")
def checked(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Only checks of this run.")] = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List checks of graders, the newest first."""
    with connection.client() as client:
        checks.show_all(islice(every(client.grader_checks, run_id=run), limit), json)


def _given(grader: str) -> dict[str, Any]:
    """Return the grader of a file, or the stored one of a name."""
    return read(Path(grader)) if Path(grader).exists() else {"type": "stored", "name": grader}


@app.command("try")
def tried(
    grader: GraderFile, answer: Annotated[str, typer.Argument(help="The answer to grade.")],
    item: Annotated[Path | None, typer.Option(help="YAML or JSON file with the row.")] = None,
) -> None:
    """Grade an answer and store nothing. It prints OpenAI's JSON."""
    with connection.client() as client:
        say(client.try_grader(read(grader), answer, read(item) if item else {}).model_dump_json())
