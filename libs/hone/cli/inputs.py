"""`hone models`, `hone data`, `hone uploads`: base models and datasets, and those that are on their way."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hone.cli import connection, deletions, nouns, sending
from hone.cli.output import Commands, Json, files, one, say
from hone.client import Client
from hone.client.artifact_resources import Dataset, Model
from hone.client.errors import Refused
from hone.models import toy

models = typer.Typer(cls=Commands, no_args_is_help=True, help="Base models.")
data = typer.Typer(cls=Commands, no_args_is_help=True, help="Datasets.")
uploads = typer.Typer(cls=Commands, no_args_is_help=True, help="Uploads in parts, of large models and datasets.")

Name = Annotated[str, typer.Argument(help="Its name in specs.")]


@models.command("add")
def add_model(
    name: Name,
    directory: Annotated[Path, typer.Argument(help="Model directory in the layout that transformers writes.")],
    upload: Annotated[bool, typer.Option(
        "--upload", help="Send the files even if the gateway could read the directory itself.")] = False,
    json: Json = False,
) -> None:
    """Register a base model.

    A gateway that cannot read the directory, because it runs on another machine, is sent the files. After an
    interruption the same command goes on with the parts that are missing.
    """
    with connection.client() as client:
        model = _sent(client, name, directory) if upload else _registered(client, name, directory)
    _show(model, json)


def _show(model: Model, json: bool) -> None:
    """Print a model: its fields, where answers end, what its chat template cannot show, and its files."""
    one(model, json, beside=frozenset({"text", "files"}))
    if json:
        return
    for end in model.text.ends:
        say(f"ends at        {end.text} (id {end.id}; {', '.join(end.sources)})")
    for reason in model.text.lacks.values():
        say(f"cannot show    {reason}")
    files(model)


def _show_dataset(dataset: Dataset, json: bool) -> None:
    """Print a dataset: its fields, its bad rows, and its files."""
    one(dataset, json, beside=frozenset({"report", "files"}))
    if json:
        return
    report = dataset.report
    say(f"bad rows       {report.bad} of {report.rows}")
    for bad in report.problems:
        say(f"row {bad.row:<10} {bad.field}: found {bad.found}, expected {bad.expected}")
    if report.numbers_as_text:
        say(f"kept as text   numbers of {report.numbers_as_text} rows")
    files(dataset)


def _registered(client: Client, name: str, directory: Path) -> Model:
    try:
        return client.register_model(name, directory)
    except Refused as error:
        if not directory.is_dir() or [problem.field for problem in error.problems] != ["directory"]:
            raise
    return _sent(client, name, directory)


def _sent(client: Client, name: str, directory: Path) -> Model:
    with sending.progress() as progress:
        return client.upload_model(name, directory, progress=progress)


@models.command("make-toy")
def make_toy(
    name: Name,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same weights.")] = 0,
    text: Annotated[bool, typer.Option("--text", help="Read all of printable ASCII, not digits alone.")] = False,
    json: Json = False,
) -> None:
    """Make a small model with random weights and register it: a first base, for trying things out."""
    sizes = {"symbols": toy.TEXT, "vocab_size": len(toy.TEXT)} if text else {}
    with TemporaryDirectory() as directory, connection.client() as client:
        _show(client.upload_model(name, toy.write(directory, seed, **sizes)), json)


@models.command("get")
def get_model(name: Name, json: Json = False) -> None:
    """Show a base model: its fields, where answers end, and its files."""
    with connection.client() as client:
        _show(client.model(name), json)


nouns.add_list(models, "models")


@models.command("delete")
def delete_model(name: Name) -> None:
    """Delete a model. Its name is free at once; its files stay while a run that started from it is stored."""
    with connection.client() as client:
        say(deletions.line(client.delete_model(name)))


@data.command("delete")
def delete_dataset(name: Name) -> None:
    """Delete a dataset."""
    with connection.client() as client:
        say(deletions.line(client.delete_dataset(name)))


@data.command("add")
def add_dataset(
    name: Name, file: Annotated[Path, typer.Argument(help="JSONL: prompt or messages, answer or completion.")],
    allow_bad_rows: Annotated[bool, typer.Option("--allow-bad-rows", help="Store the good rows only.")] = False,
    json: Json = False,
) -> None:
    """Upload a dataset. Bad rows are listed, and refuse the file unless they are allowed."""
    with connection.client() as client, sending.progress() as progress:
        dataset = client.upload_dataset(name, file, allow_bad_rows, progress=progress)
    _show_dataset(dataset, json)


@data.command("get")
def get_dataset(name: Name, json: Json = False) -> None:
    """Show a dataset: its columns with their rows, its bad rows, and its files."""
    with connection.client() as client:
        _show_dataset(client.dataset(name), json)


nouns.add_list(uploads, "uploads")


@uploads.command("abort")
def abort_upload(upload: Annotated[str, typer.Argument(metavar="UPLOAD", help="The upload's id.")]) -> None:
    """End an upload and delete its parts."""
    with connection.client() as client:
        say(f"{upload}  {client.abort_upload(upload).state}")


nouns.add_list(data, "datasets")
