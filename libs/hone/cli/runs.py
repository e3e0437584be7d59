"""`hone runs`: look at runs and say what is wanted of them."""

from itertools import islice
from typing import Annotated

import typer
from rich.console import Console

from hone.cli import connection, progress
from hone.cli.failures import Commands
from hone.cli.output import Json, one, rows, say
from hone.client import every
from hone.client.resources import Desired, RunState
from hone.trajectory.records import PREVIEW

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Runs: what they do, what came of them.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
Limit = Annotated[int, typer.Option(min=1, help="At most this many.")]


@app.command("list")
def listed(
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    search: Annotated[str | None, typer.Option(help="Part of a name, an id or a base.")] = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List runs, newest first."""
    with connection.client() as client:
        found = islice(every(client.runs, state=state, search=search), limit)
        rows(found, ("id", "name", "state", "step", "steps", "waiting_for", "created_at"), json)


@app.command()
def get(run: RunId, json: Json = False) -> None:
    """Show one run."""
    with connection.client() as client:
        one(client.run(run), json)


@app.command()
def follow(run: RunId) -> None:
    """Show a run until it has ended; Ctrl-C stops looking, not the run."""
    with connection.client() as client:
        ended = progress.follow(client, run)
    say(f"{ended.id}  {ended.state}{f': {ended.reason}' if ended.reason else ''}")


@app.command()
def pause(run: RunId) -> None:
    """Let the present step end and hold the run there."""
    _want(run, "pause")


@app.command()
def resume(run: RunId) -> None:
    """Let a paused run go on."""
    _want(run, "run")


@app.command()
def cancel(run: RunId) -> None:
    """End a run for good; its checkpoints stay."""
    _want(run, "cancel")


def _want(run: str, desired: Desired) -> None:
    with connection.client() as client:
        changed = client.want(run, desired)
    say(f"{changed.id}  {changed.state}, wanted: {changed.desired}")


@app.command()
def events(
    run: RunId, follow: Annotated[bool, typer.Option("--follow", help="Go on until the run has ended.")] = False,
    json: Json = False,
) -> None:
    """Show what happened to a run."""
    with connection.client() as client:
        for event in client.follow(run) if follow else every(client.events, run_id=run):
            say(event.model_dump_json() if json else f"{event.created_at.astimezone():%H:%M:%S}  {event.message}")


@app.command()
def metrics(
    run: RunId, json: Json = False,
    name: Annotated[list[str] | None, typer.Argument(help="Series to show; all where none is named.")] = None,
) -> None:
    """Show series of metrics by step."""
    with connection.client() as client:
        found = client.metrics(run, name or [])
    if json:
        say(found.model_dump_json())
        return
    for series, points in found.series.items():
        say(f"{series:<24} {'  '.join(f'{step}:{value:.4g}' for step, value in points)}")


@app.command()
def checkpoints(run: RunId, limit: Limit = 50, json: Json = False) -> None:
    """List the versions of a run's policy, newest first."""
    with connection.client() as client:
        found = islice(every(client.checkpoints, run_id=run), limit)
        rows(found, ("number", "id", "state", "stored", "weights_sha256", "created_at"), json)


@app.command()
def trajectories(
    run: RunId, purpose: Annotated[str | None, typer.Option(help="train or eval.")] = None,
    step: Annotated[int | None, typer.Option(help="Only this step's.")] = None,
    status: Annotated[str | None, typer.Option(help="Only of this grade status.")] = None,
    min_score: Annotated[float | None, typer.Option(help="At least this score.")] = None,
    max_score: Annotated[float | None, typer.Option(help="At most this score.")] = None,
    text: Annotated[str | None, typer.Option(help=f"Part of the last answer's first {PREVIEW} characters.")] = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List samples of a run."""
    with connection.client() as client:
        found = islice(every(client.trajectories, run_id=run, purpose=purpose, step=step, status=status,
                             min_score=min_score, max_score=max_score, text=text), limit)
        rows(found, ("group_id", "index", "purpose", "step", "status", "score", "completion_tokens", "preview"), json)


@app.command()
def trajectory(run: RunId, group: int, index: int) -> None:
    """Show one whole sample as JSON."""
    with connection.client() as client:
        Console().print_json(client.trajectory(run, group, index).model_dump_json())
