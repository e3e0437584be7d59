"""`hone runs memory`: what a policy remembers of a changing user, and why it fails; `hone runs talks`: its replies."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.desk import expect_place, store
from hone.cli.output import Json, note, say, table
from hone.cli.runs import app
from hone.client.matrix import Estimate
from hone.client.memory import MemoryReport, MemoryRow, MemorySource

COLUMNS = ("period", "lives", "samples", "memory score", "accuracy", "write", "read", "utilization", "known")


@app.command()
def memory(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")], json: Json = False,
    step: Annotated[int | None, typer.Option(help="Step of the evaluation.", show_default="the newest one")] = None,
    series: Annotated[str, typer.Option(help="sampled or greedy: the held-out answers that are read.")] = "sampled",
) -> None:
    """Show a policy's memory of changing users, and why questions fail: written, read or used badly."""
    with connection.client() as client:
        found = client.memory(run, step, series)
    if json:
        say(found.model_dump_json())
    else:
        show(found)


@app.command()
def talks(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")],
    dataset: Annotated[str | None, typer.Option(help="Name of the dataset that the talks become.",
                                                show_default="none")] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False, help="JSONL file that the rows are written to.")] = None,
    step: Annotated[int | None, typer.Option(help="Step of the evaluation.", show_default="the newest one")] = None,
    series: Annotated[str, typer.Option(help="sampled or greedy: the held-out talks that are read.")] = "sampled",
) -> None:
    """Make rows of a policy's replies to changing users. Other memories hear these talks instead of their own."""
    expect_place(dataset, out)
    with connection.client() as client:
        found = client.talks(run, step, series)
        for reason, count in sorted(found.left_out.items()):
            note(f"left out {count} samples: {reason}")
        if not found.rows:
            note("no talk of a changing user can be played again")
            raise typer.Exit(1)
        store(client, found.rows, dataset, out)
    if found.truncated:
        note(f"there are more than the {len(found.rows)} talks that were read")


def show(found: MemoryReport) -> None:
    """Print a table of each source, and what belongs below it."""
    if not found.sources:
        say("no evaluation of the run has measured its memory; the environment changing_user does")
        return
    for source in found.sources:
        say(source.title)
        table(COLUMNS, lines(source))
        for line in below(source):
            say(line)
    say(f"{found.series} answers after step {found.step}; shares of questions, 95 % intervals over lives")
    if found.truncated:
        say("incomplete: there are more samples than are read, or some were deleted")


def lines(source: MemorySource) -> Iterator[Sequence[str]]:
    """Yield the lines of a source's table: all periods together, then each."""
    for row in [*([source.whole] if source.whole else []), *source.periods]:
        yield ["all" if row.period is None else str(row.period), str(row.lives), str(row.samples),
               *map(_figure, (row.memory_score, row.accuracy, row.write, row.read, row.utilization, row.known))]


def below(source: MemorySource) -> Iterator[str]:
    """Yield what is said below a source's table."""
    if source.whole:
        yield _counts(source.whole)
    if source.masked:
        yield f"{source.masked} samples have no score and no part in this"
    if source.cut:
        yield f"{source.cut} samples ended before their last period, and count as far as they came"


def _counts(row: MemoryRow) -> str:
    failed = ", ".join(f"{count} by {cause}" for cause, count in row.failures.items())
    said = f"of {row.questions} questions failed {failed}; random {row.random:.3f}, upper {row.upper:.3f}"
    left_out = f"; {row.left_out} periods have no memory score" if row.left_out else ""
    return said + (f"; {row.json_errors} answers could not be read" if row.json_errors else "") + left_out


def _figure(found: Estimate) -> str:
    if found.value is None:
        return "-"
    spread = "" if found.low is None or found.high is None else f" {found.low:.3f}…{found.high:.3f}"
    return f"{found.value:.3f}{spread}"
