"""`hone knowledge`: what runs learned of environments, under names, for the harnesses of other runs."""

import json as json_text
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection, nouns
from hone.cli.output import Commands, Json, one, say
from hone.client import every

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Knowledge of environments that runs have learned.")

Name = Annotated[str, typer.Argument(help=nouns.DELETIONS["knowledge"].argument)]
Version = Annotated[int | None, typer.Option("--number", help="Number of a version.",
                                                 show_default="the newest")]


@app.command()
def save(name: Name, run: Annotated[str, typer.Argument(help="Run with the collection knowledge.")],
         json: Json = False) -> None:
    """Store the knowledge of a run as the name's next version."""
    with connection.client() as client:
        one(client.save_knowledge(name, run), json)


nouns.add_list(app, "knowledge")


@app.command()
def show(name: Name, version: Version = None, json: Json = False) -> None:
    """Show a version and its texts."""
    with connection.client() as client:
        one(client.knowledge(name, version), json)
        if not json:
            for text in dict.fromkeys(f"{item.kind}: {item.text}" for item in every(
                    partial(client.knowledge_items, name, version))):
                say(text)


@app.command()
def export(name: Name, file: Annotated[Path, typer.Argument(help="File of JSON lines that is written.")],
           version: Version = None) -> None:
    """Write the texts of a version, each with its kind and the hash of the task that taught it."""
    with connection.client() as client:
        found = list(every(partial(client.knowledge_items, name, version)))
    file.write_text("".join(json_text.dumps(item.model_dump(), ensure_ascii=False) + "\n" for item in found))
    say(f"{len(found)} texts")


nouns.add_delete(app, "knowledge")
