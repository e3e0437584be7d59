"""`hone value`: outcomes of a run by prompt, and training of the model that predicts them."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.nouns import Limit
from hone.cli.output import Commands, Json, rows, say
from hone.client import Client, every

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Success by prompt, and the model that predicts it.")


@app.command()
def outcomes(
    run: Annotated[str, typer.Argument(help="Id of the run.")],
    purpose: Annotated[str | None, typer.Option(help="train, eval, probe or pilot.")] = None,
    step: Annotated[int | None, typer.Option(help="Only groups of this step.")] = None,
    prompt: Annotated[str | None, typer.Option(help="Content hash of a task.")] = None,
    version: Annotated[str | None, typer.Option(help="Only groups that this version sampled.")] = None,
    like: Annotated[str | None, typer.Option(help="A text: the prompts nearest to it, each with its newest group.")
                    ] = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List the results of a run's policy on each prompt, group by group."""
    with connection.client() as client:
        if like is not None:
            near = client.outcomes(run, limit, purpose=purpose, step=step, prompt=prompt, version=version,
                                   similar_to=like)
            rows(near.data, ("similarity", "id", "purpose", "step", "samples", "score", "prompt"), json)
            if near.left_out and not json:
                say(f"{near.compared} prompts were compared; {near.left_out} were not, for want of time: ask again")
            return
        found = islice(every(client.outcomes, run_id=run, purpose=purpose, step=step, prompt=prompt,
                             version=version), limit)
        rows(found, ("id", "purpose", "step", "series", "task_hash", "samples", "score", "prompt"), json)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="File that the model is written to, safetensors.")],
    runs: Annotated[list[str] | None, typer.Option("--run", help="Id of a run, may be repeated; else all.")] = None,
    embedder: Annotated[str, typer.Option(help="auto, hashed or minilm, as HONE_VALUE_EMBEDDER.")] = "auto",
    lowest: Annotated[float, typer.Option(help="Smallest score of the runs' graders.")] = 0.0,
    highest: Annotated[float, typer.Option(help="Largest score of the runs' graders.")] = 1.0,
    epochs: Annotated[int, typer.Option(help="Passes over the outcomes.")] = 50,
) -> None:
    """Train a value model on the outcomes of runs that have ended. HONE_VALUE_MODEL names it to the value service."""
    if not lowest < highest:
        raise typer.BadParameter(f"--highest: found {highest:g}, expected more than --lowest, {lowest:g}")
    with tempfile.TemporaryDirectory() as scratch, connection.client() as client:
        path = Path(scratch) / "outcomes.jsonl"
        with path.open("w") as file:
            count = sum(1 for line in _lines(client, runs or _ended(client), lowest, highest) if file.write(line))
        say(f"{count} outcomes")
        ended = subprocess.run([sys.executable, "-m", "hone.models.value_fit", str(path), "--out", str(out),
                                "--embedder", embedder, "--epochs", str(epochs)], check=False)
    raise typer.Exit(ended.returncode)


def _ended(client: Client) -> list[str]:
    return [run.id for run in every(client.runs) if run.state == "succeeded"]


def _lines(client: Client, runs: list[str], lowest: float, highest: float) -> Iterator[str]:
    """Yield a line for each group: its policy is the run at its step, in training or in an evaluation."""
    for run in runs:
        for one in every(client.outcomes, run_id=run, limit=500):
            if one.prompt and one.series != "greedy":
                score = min(max((one.score - lowest) / (highest - lowest), 0.0), 1.0)
                policy = f"{run}/{one.purpose}/{one.step}"
                yield json.dumps({"policy": policy, "prompt": one.prompt, "score": score}) + "\n"
