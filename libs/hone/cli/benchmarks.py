"""`hone benchmark`: examine models by frozen tasks, and compare checkpoints."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from hone.cli import connection, progress
from hone.cli.output import Commands, Json, one, rows, say, table
from hone.client.benchmark_resources import Examination, Leaderboard, Standing
from hone.client.matrix import Estimate
from hone.spec import files

app = typer.Typer(cls=Commands, no_args_is_help=True, help="Frozen tasks, and the checkpoints that did them.")

Name = Annotated[str, typer.Argument(help="Name of the benchmark, see `hone benchmark list`.")]
Series = Annotated[str, typer.Option(help="sampled or greedy answers.")]
Part = Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="YAML or JSON of this field of a spec.")]


@app.command("list")
def listed(json: Json = False) -> None:
    """List the benchmarks."""
    with connection.client() as client:
        rows(client.benchmarks(), ("name", "environment", "tasks", "families", "version", "dataset"), json)


@app.command()
def examine(
    benchmark: Name, model: Annotated[str, typer.Argument(help="A registered model, a version, or a finished run.")],
    samples: Annotated[int, typer.Option(help="Sampled answers to each task.")] = 1,
    max_tokens: Annotated[int, typer.Option(help="Longest answer of a call, in tokens.")] = 256,
    name: Annotated[str | None, typer.Option(help="Name of the run.")] = None,
    harness: Part = None, noise: Part = None,
    follow: Annotated[bool, typer.Option(help="Wait for the end, and show the result.")] = True,
    json: Json = False,
) -> None:
    """Have a model do every task, in a run that trains nothing."""
    with connection.client() as client:
        run = client.examine(benchmark, model, samples, max_tokens, name, _read(harness), _read(noise))
        if not follow:
            one(run, json, frozenset({"spec", "metrics"}))
            return
        ended = progress.follow(client, run.id)
        if ended.state != "succeeded":
            say(f"the run {ended.state}: {ended.reason}")
            raise typer.Exit(1)
        found = client.examination(benchmark, run.id)
    show_examination(found, json)


def _read(file: Path | None) -> dict[str, Any] | None:
    return None if file is None else files.read(file)


@app.command()
def leaderboard(
    benchmark: Name, series: Series = "sampled",
    every: Annotated[bool, typer.Option("--all", help="Every evaluation of a run, not its newest alone.")] = False,
    json: Json = False,
) -> None:
    """Compare the checkpoints that were evaluated on a benchmark, the best first."""
    with connection.client() as client:
        found = client.leaderboard(benchmark, series, "all" if every else "newest")
    if json:
        say(found.model_dump_json())
        return
    if not found.standings:
        say(f"no checkpoint was evaluated on it yet: hone benchmark examine {benchmark} MODEL")
        return
    table(COLUMNS, (line(one) for one in found.standings))
    for text in below(found):
        say(text)


@app.command()
def show(
    benchmark: Name, run: Annotated[str, typer.Argument(help="Id of a run.")], series: Series = "sampled",
    step: Annotated[int | None, typer.Option(help="Step of the evaluation.", show_default="the newest one")] = None,
    json: Json = False,
) -> None:
    """Show an evaluation of a benchmark, answer by answer."""
    with connection.client() as client:
        show_examination(client.examination(benchmark, run, step, series), json)


COLUMNS = ("", "checkpoint", "score", "95 %", "passed", "behind the first", "calls", "failed calls", "tokens",
           "seconds", "failures of an answer")


def line(standing: Standing) -> list[str]:
    """Return a checkpoint as a line of the table."""
    failures = ", ".join(f"{name.replace('_', ' ')} {count:.2f}" for name, count in standing.failures.items())
    place = "-" if standing.rank is None else str(standing.rank)
    name = standing.model if standing.complete else f"{standing.model} ({standing.tasks} tasks alone)"
    return [place, name, _number(standing.score.value), _interval(standing.score), _share(standing.passed),
            _behind(standing), f"{standing.reliability.calls:.1f}", f"{100 * standing.reliability.failed:.1f}%",
            f"{standing.cost.completion_tokens:.0f}", f"{standing.cost.seconds:.0f}", failures or "-"]


def below(found: Leaderboard) -> Iterator[str]:
    """Yield what is said below the table."""
    yield (f"{found.benchmark.tasks} tasks, {found.series} answers; intervals are over tasks. A checkpoint whose "
           "distance to the first may be 0 cannot be told apart from it.")
    if found.differing:
        yield f"not asked alike: {', '.join(found.differing)} differ; see --json"
    if found.truncated:
        yield "there are more evaluations than are read"


def show_examination(found: Examination, json: bool) -> None:
    """Print an evaluation: its line, its families, and each answer."""
    if json:
        say(found.model_dump_json())
        return
    table(COLUMNS, [line(found.standing)])
    say("")
    table(("family or difficulty", "tasks", "score", "95 %", "passed"), (
        [one.name, str(one.tasks), _number(one.score.value), _interval(one.score), _share(one.passed)]
        for one in [*found.standing.families, *found.standing.difficulties]))
    say("")
    table(("family", "seed", "sample", "score", "calls", "failed", "tokens", "failed checks"), (
        [one.family, str(one.seed), f"{one.group_id}/{one.index}", _number(one.score), f"{one.calls:.0f}",
         f"{one.failed_calls:.0f}", str(one.completion_tokens),
         ", ".join(f"{name.replace('_', ' ')} {count:.0f}" for name, count in one.failures.items()) or "-"]
        for one in found.answers))


def _behind(standing: Standing) -> str:
    own = standing.behind
    if own.value is None or not own.value:
        return "-"
    return f"{own.value:.1f} ({_interval(own)})" if own.real else f"{own.value:.1f}, may be 0"


def _interval(found: Estimate) -> str:
    return "-" if found.low is None or found.high is None else f"{found.low:.1f} to {found.high:.1f}"


def _share(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "-"
    return f"{100 * found.value:.0f}% ({100 * found.low:.0f} to {100 * found.high:.0f})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
