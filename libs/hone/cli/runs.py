"""Commands about runs: `hone train`, `hone validate`, `hone export` and the group `hone runs`."""

import hashlib
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
import yaml
from rich.console import Console

from hone.cli import connection, deletions, matrix, noise, progress
from hone.cli.amounts import amount
from hone.cli.nouns import Limit
from hone.cli.output import Commands, Json, cell, one, rows, say, table
from hone.client import Client, every
from hone.client.errors import Away
from hone.client.grade_resources import Regrade
from hone.client.resources import Desired, Export, RunState
from hone.spec.files import Raw, as_json, as_text, read
from hone.spec.money import money
from hone.spec.problems import Invalid, Problem
from hone.spec.run import RunSpec
from hone.trajectory.records import PREVIEW

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Runs: their states and their results.")

RunId = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]
Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="YAML or JSON file with a run spec.")]

_LOOK_S = 0.3


def train(
    spec: Spec,
    dry_run: Annotated[bool, typer.Option(
        "--dry-run", help="Print the resolved spec with notes on its datasets, and create nothing.")] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Show the run until it has ended.")] = False,
    json: Json = False,
) -> None:
    """Create a run from a spec."""
    raw = read(spec)
    if dry_run:
        resolved, notes = _dry_run(raw)
        say(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True).rstrip())
        say("\n".join(f"# {note}" for note in notes))
        return
    with _client_for(raw) as client:
        run = client.create_run(raw)
        for warning in run.warnings:
            typer.echo(f"warning: {warning}", err=True)
        if follow:
            run = progress.follow(client, run.id)
    if json:
        one(run, as_json=True)
    else:
        say(f"{run.id}  {run.state}{f': {run.reason}' if run.reason else ''}")
    if follow and run.state != "succeeded":
        raise typer.Exit(1)


def _client_for(raw: Raw) -> Client:
    """Return the gateway's client; the gateway finds all problems at once. Without one, raise those of the spec first.
    """
    try:
        return connection.client()
    except connection.Unconfigured:
        _resolved(raw)
        raise


def _dry_run(raw: Raw) -> tuple[Raw, list[str]]:
    """Return the resolved spec, and what the gateway notes on its datasets. Raises Refused or Invalid."""
    try:
        with connection.client() as client:
            found = client.dry_run(raw)
    except (connection.Unconfigured, Away):
        note = "no gateway answers: whether models and datasets exist, and which rows train, was not checked"
        return as_json(_resolved(raw)), [note]
    return found.spec, [*(f"warning: {warning}" for warning in found.warnings), *found.notes]


def _resolved(raw: Raw) -> RunSpec:
    from hone.resolution import resolve  # loads every method and grader: half a second

    return resolve(raw)


def validate(spec: Spec) -> None:
    """Check a spec without a server, and name all its problems.

    Only the gateway can check that the models and datasets exist.
    """
    from hone.resolution.notes import notes

    resolved = _resolved(read(spec))
    say(f"{spec}: valid")
    for note in notes(resolved):
        say(f"note: {note}")


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")],
    to: Annotated[Path, typer.Option("--to", help="Directory for the files; it is made if missing.")],
    version: Annotated[str | None, typer.Option(help="A version of the run; the newest by default.")] = None,
) -> None:
    """Export a run's weights: compare them with stock transformers, download the files, check their digests."""
    with connection.client() as client:
        done = _finished(client, client.create_export(run, version))
        _download(client, done, to)
    say(f"{done.version_id} is in {to} ({len(done.files)} files, largest log-prob difference "
        f"{done.max_abs_diff or 0.0:.2g})")
    if done.sampling_note:
        say(done.sampling_note)


def _finished(client: Client, requested: Export) -> Export:
    """Wait until an export is done and return it. Raises Invalid with the trainer's reason when it failed."""
    while requested.state == "queued":
        time.sleep(_LOOK_S)
        requested = client.export(requested.id)
    if requested.state == "failed":
        raise Invalid([Problem(requested.version_id, requested.reason or "a failed export",
                               "weights that another engine can load")])
    return requested


def _download(client: Client, done: Export, to: Path) -> None:
    """Write the files of an export into `to`. Raises Invalid when a file does not have its digest."""
    to.mkdir(parents=True, exist_ok=True)
    for name, file in sorted(done.files.items()):
        data = client.export_file(done.id, name)
        digest = hashlib.sha256(data).hexdigest()
        if digest != file.sha256:
            raise Invalid([Problem(name, f"sha256 {digest}", file.sha256)])
        (to / name).write_bytes(data)


@app.command("list")
def listed(
    run_state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    search: Annotated[str | None, typer.Option(help="Part of a name, an id or a base.")] = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List runs, newest first."""
    with connection.client() as client:
        found = islice(every(client.runs, state=run_state, search=search), limit)
        rows(found, ("id", "name", "state", "step", "steps", "bytes", "waiting_for", "created_at"), json)


@app.command()
def get(run: RunId, json: Json = False) -> None:
    """Show a run: its state, warnings and newest metrics. `hone runs spec` prints its spec."""
    with connection.client() as client:
        found = client.run(run)
    one(found, json, beside=frozenset({"spec", "metrics", "warnings"}))
    if json:
        return
    for warning in found.warnings:
        say(f"warning        {warning}")
    if found.metrics:
        say("")
        table(("metric", "newest value"), ((name, cell(value)) for name, value in sorted(found.metrics.items())))


@app.command("spec")
def shown_spec(
    run: RunId, full: Annotated[bool, typer.Option("--full", help="With every default written out.")] = False,
) -> None:
    """Print the spec of a run as YAML, to start another from it."""
    with connection.client() as client:
        spec = client.run(run).spec
    if not full:
        from hone.resolution.brevity import brief

        spec = brief(spec)
    say(as_text(spec).rstrip())


@app.command()
def follow(run: RunId) -> None:
    """Show a run until it has ended. Ctrl-C ends the command, not the run."""
    with connection.client() as client:
        ended = progress.follow(client, run)
    say(f"{ended.id}  {ended.state}{f': {ended.reason}' if ended.reason else ''}")


@app.command()
def pause(run: RunId) -> None:
    """Pause a run after its present step."""
    _set_desired(run, "pause")


@app.command()
def resume(run: RunId) -> None:
    """Resume a paused run."""
    _set_desired(run, "run")


@app.command()
def budget(run: RunId, to: Annotated[str, typer.Argument(help="Money that the run may cost, or none.")]) -> None:
    """Set the budget of a run, by `hone prices`. A run that its budget paused goes on when there is more."""
    with connection.client() as client:
        changed = client.set_budget(run, amount("amount", to))
    bound = "none" if changed.budget is None else money(changed.budget, changed.currency)
    say(f"{changed.id}  {changed.state}, budget: {bound}, cost so far: {money(changed.cost, changed.currency)}")


@app.command()
def cancel(run: RunId) -> None:
    """Cancel a run for good. Its checkpoints stay."""
    _set_desired(run, "cancel")


def _set_desired(run: str, desired: Desired) -> None:
    with connection.client() as client:
        changed = client.want(run, desired)
    say(f"{changed.id}  {changed.state}, desired: {changed.desired}")


@app.command("delete")
def delete_run(
    run: RunId,
    force: Annotated[bool, typer.Option("--force", help="Cancel the run first if it has not ended.")] = False,
) -> None:
    """Delete a run with its samples, metrics, events, checkpoints and exports. Its usage stays."""
    with connection.client() as client:
        say(deletions.line(client.delete_run(run, force)))


@app.command()
def exports(run: RunId, limit: Limit = 50, json: Json = False) -> None:
    """List the exports of a run, newest first."""
    with connection.client() as client:
        found = islice(every(client.exports, run_id=run), limit)
        rows(found, ("id", "version_id", "state", "bytes", "reason", "created_at"), json)


@app.command()
def delete_export(export: Annotated[str, typer.Argument(metavar="EXPORT", help="The export's id.")]) -> None:
    """Delete an export and its files."""
    with connection.client() as client:
        say(deletions.line(client.delete_export(export)))


@app.command()
def delete_samples(run: RunId) -> None:
    """Delete the samples and grades of a run that has ended. Its metrics, steps and checkpoints stay."""
    with connection.client() as client:
        say(deletions.line(client.delete_samples(run)))


@app.command()
def delete_checkpoint(run: RunId, version: Annotated[str, typer.Argument(help="The version's id.")]) -> None:
    """Delete the weights of a version. Its line stays in the list of checkpoints."""
    with connection.client() as client:
        say(deletions.line(client.delete_checkpoint(run, version)))


@app.command()
def events(
    run: RunId, follow: Annotated[bool, typer.Option("--follow", help="Continue until the run has ended.")] = False,
    json: Json = False,
) -> None:
    """Show the events of a run."""
    with connection.client() as client:
        for event in client.follow(run) if follow else every(client.events, run_id=run):
            say(event.model_dump_json() if json else f"{event.created_at.astimezone():%H:%M:%S}  {event.message}")


@app.command()
def metrics(
    run: RunId, json: Json = False,
    name: Annotated[list[str] | None, typer.Argument(help="Series to show; all by default.")] = None,
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
def collections(
    run: RunId, name: Annotated[str | None, typer.Argument(help="The collection of which items are shown.")] = None,
    json: Json = False,
) -> None:
    """List the collections of a run, or the items of a collection as lines of JSON."""
    with connection.client() as client:
        if name is None:
            rows(client.collections(run), ("name", "version", "versions", "items", "created_at"), json)
            return
        for item in every(client.collection_items, run_id=run, name=name):
            say(item.model_dump_json())


@app.command("matrix")
def show_matrix(
    run: RunId, json: Json = False,
    series: Annotated[str, typer.Option(help="sampled or greedy: the held-out answers that are scored.")] = "sampled",
) -> None:
    """Show the score of each source of held-out tasks after each stage, with gains, forgetting and transfer."""
    with connection.client() as client:
        found = client.matrix(run, series)
    if json:
        say(found.model_dump_json())
    elif found.sources:
        table(matrix.columns(found), matrix.lines(found))
        for line in matrix.below(found):
            say(line)
    else:
        say("the run evaluates nothing")


@app.command("noise")
def show_noise(
    run: RunId, json: Json = False,
    step: Annotated[int | None, typer.Option(help="Step of the evaluation.", show_default="the newest one")] = None,
) -> None:
    """Show the effects of each type of noise of eval.noise on held-out answers, beside their clean twins."""
    with connection.client() as client:
        found = client.noise(run, step)
    if json:
        say(found.model_dump_json())
    else:
        noise.show(found)


@app.command()
def checkpoints(run: RunId, limit: Limit = 50, json: Json = False) -> None:
    """List the versions of a run's policy, newest first."""
    with connection.client() as client:
        found = islice(every(client.checkpoints, run_id=run), limit)
        rows(found, ("number", "id", "state", "stored", "bytes", "weights_sha256", "created_at"), json)


@app.command()
def trajectories(
    run: RunId, purpose: Annotated[str | None, typer.Option(help="train, eval, probe or pilot.")] = None,
    step: Annotated[int | None, typer.Option(help="Only samples of this step.")] = None,
    source: Annotated[str | None, typer.Option(help="Only samples of this source of a mixture.")] = None,
    status: Annotated[str | None, typer.Option(help="Only samples with this grade status.")] = None,
    min_score: Annotated[float | None, typer.Option(help="Smallest score.")] = None,
    max_score: Annotated[float | None, typer.Option(help="Largest score.")] = None,
    contains: Annotated[str | None, typer.Option(help=f"Part of the last answer's first {PREVIEW} characters.")] = None,
    limit: Limit = 50, json: Json = False,
) -> None:
    """List the samples of a run."""
    with connection.client() as client:
        found = islice(every(client.trajectories, run_id=run, purpose=purpose, step=step, status=status,
                             min_score=min_score, max_score=max_score, text=contains, source=source), limit)
        rows(found, ("group_id", "index", "purpose", "step", "status", "score", "completion_tokens", "preview"), json)


@app.command()
def regrade(
    run: RunId,
    grader: Annotated[Path, typer.Argument(metavar="GRADER", help="YAML or JSON file with a grader.")],
    purpose: Annotated[str | None, typer.Option(help="train, eval, probe or pilot.")] = None,
    groups: Annotated[int, typer.Option(min=1, help="Most groups.")] = 20,
    json: Json = False,
) -> None:
    """Grade stored samples by another grader, beside their first grades, and compare."""
    given, after, found = read(grader), 0, list[Regrade]()
    with connection.client() as client:
        while groups > 0:
            page = client.grade_again(run, given, purpose, min(groups, 20), after)
            found += page.data
            groups -= 20
            if page.next is None:
                break
            after = page.next
    rows(found, ("group_id", "index", "first_status", "first_score", "status", "score", "components"), json)
    if not json and found:
        say(_agreement(found))


def _agreement(found: Sequence[Regrade]) -> str:
    both = [(one.first_score, one.score) for one in found if one.first_score is not None and one.score is not None]
    if not both:
        return "no sample has both scores"
    before, after = (fmean(scores) for scores in zip(*both, strict=True))
    same = sum(first == later for first, later in both)
    return f"{same} of {len(both)} scores are equal; mean {before:.3f} -> {after:.3f}"


@app.command()
def trajectory(run: RunId, group: int, index: int) -> None:
    """Show a whole sample as JSON."""
    with connection.client() as client:
        Console().print_json(client.trajectory(run, group, index).model_dump_json())
