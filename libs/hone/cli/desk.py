"""`hone desk`: tasks of the desk from a hint, by a model or by a seed."""

import json as jsonlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hone.cli import connection
from hone.cli.output import Commands, Json, note, one, say
from hone.cli.packages import asked, ended
from hone.client import Client
from hone.client.package_resources import PackageJob

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Tasks of the desk from a hint.")


@app.command()
def make(
    hint: Annotated[str, typer.Argument(help="Subject of the tasks, for instance: a violin maker's fittings.")],
    author: Annotated[str | None, typer.Option(help="Endpoint (`hone judges list`) or model of yours that writes them.",
                                               show_default="the seeded generator")] = None,
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset that the tasks become.",
                                                show_default="none")] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="JSONL file that the rows are written to.")] = None,
    validator: Annotated[str | None, typer.Option(help="Endpoint or model that reads the tasks that passed the gates.",
                                                  show_default="the author")] = None,
    seed: Annotated[int, typer.Option(help="Another seed asks anew.")] = 0,
    tasks: Annotated[int, typer.Option(help="Tasks that are wanted.")] = 8,
    within_s: Annotated[int, typer.Option(help="Seconds that the making may take.")] = 3600, json: Json = False,
) -> None:
    """Have tasks made, each with its checks, and wait for the tasks that pass the gates."""
    expect_place(dataset, out)
    with connection.client() as client:
        job = client.make_desk_tasks(
            dataset or "desk", hint, asked(author), asked(validator), seed, tasks, within_s)
        keep(client, job, dataset, out, json)


@app.command()
def rows(job_id: Annotated[str, typer.Argument(help="Id of the job.")]) -> None:
    """Write the tasks that a job made, as JSONL."""
    with connection.client() as client:
        say(lines(client.made_rows(job_id)).rstrip("\n"))


def expect_place(dataset: str | None, out: Path | None) -> None:
    """Raise BadParameter where rows have no place to go."""
    if dataset is None and out is None:
        raise typer.BadParameter("found neither --dataset nor --out, expected at least one of them")


def keep(client: Client, job: PackageJob, dataset: str | None, out: Path | None, json: bool) -> None:
    """Wait for a job, and keep the rows that it made. Raises Exit where it made none."""
    job = ended(client, job)
    one(job, json)
    if job.state != "done":
        raise typer.Exit(1)
    store(client, client.made_rows(job.id), dataset, out)


def store(client: Client, made: Sequence[Mapping[str, Any]], dataset: str | None, out: Path | None) -> None:
    """Write rows to a file, make a dataset of them, or both."""
    content = lines(made).encode()
    if out is not None:
        out.write_bytes(content)
    if dataset is not None:
        client.upload_dataset(dataset, content)
    note(" and ".join([*([f"wrote {out}"] if out else []), *([f"made the dataset {dataset}"] if dataset else [])]))


def lines(made: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as JSONL."""
    return "".join(f"{jsonlib.dumps(row, ensure_ascii=False)}\n" for row in made)
