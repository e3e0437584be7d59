"""`hone lives`: lives of changing users that a model writes from a hint."""

from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.desk import expect_place, keep, lines
from hone.cli.judges import named_value
from hone.cli.output import Commands, Json, say
from hone.cli.packages import asked

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Lives of changing users that a model writes from a hint.")


@app.command()
def make(
    hint: Annotated[str, typer.Argument(help="Subject of the lives, for instance: people who keep bees.")],
    author: Annotated[str, typer.Option(help="Endpoint (`hone judges list`) or model of yours that writes them.")],
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset that the lives become.",
                                                show_default="none")] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="JSONL file that the rows are written to.")] = None,
    checker: Annotated[str | None, typer.Option(help="Endpoint or model that has to understand openers and answers.",
                                                show_default="the author")] = None,
    seed: Annotated[int, typer.Option(help="Another seed asks anew.")] = 0,
    users: Annotated[int, typer.Option(help="Lives that are wanted.")] = 20,
    size: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="A size of a life, such as periods=4; repeat it for more.")] = None,
    within_s: Annotated[int, typer.Option(help="Seconds that the making may take.")] = 3600, json: Json = False,
) -> None:
    """Have a model write lives, and wait for the lives with openers and answers that a checker understands."""
    expect_place(dataset, out)
    sizes = dict(map(named_value, size or []))
    with connection.client() as client:
        job = client.make_lives(dataset or "lives", hint, {"endpoint": author}, asked(checker), seed, users, sizes,
                                within_s)
        keep(client, job, dataset, out, json)


@app.command()
def rows(job_id: Annotated[str, typer.Argument(help="Id of the job.")]) -> None:
    """Write the lives that a job made, as JSONL."""
    with connection.client() as client:
        say(lines(client.made_rows(job_id)).rstrip("\n"))
