"""`hone curate`: the structure of a run's rollouts, trajectories to imitate and tasks to train on."""

import json as json_text
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hone.cli import connection
from hone.cli.output import Json, say, table
from hone.client.curation import CuratedTrajectory, Curation
from hone.environments import recorded

Calls = Sequence[Mapping[str, Any]]
"""The calls of a sample, as the API shows them."""
_COLUMNS = ("task", "rollouts", "pass rate", "error branches", "heterogeneity", "score", "probability", "selected")


def curate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")], json: Json = False,
    first_step: Annotated[int, typer.Option(min=0, help="First step of which samples are read.")] = 0,
    last_step: Annotated[int, typer.Option(min=0, help="Last step of which samples are read.")] = 2**31 - 1,
    groups: Annotated[int, typer.Option(min=1, max=256, help="Newest groups that are read.")] = 64,
    success: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the grader's range from which a sample "
                                           "succeeds.")] = 1.0,
    keep: Annotated[int, typer.Option(min=1, max=64, help="Trajectories that are selected of each task.")] = 2,
    save: Annotated[bool, typer.Option("--save", help="Keep the manifest with the run, so that samplers of other "
                                       "runs may name it.")] = False,
    out: Annotated[Path | None, typer.Option(help="File for the manifest, a task a line, as JSON.")] = None,
    rows: Annotated[Path | None, typer.Option(help="File for a row of each selected trajectory, which `hone data add` "
                                              "takes for a supervised run or stage.")] = None,
    forks: Annotated[list[str] | None, typer.Option(
        metavar="KIND", help="Kind of calls of forks that rows have, too: phases of a harness, as explore and map of "
        "map_then_act.")] = None,
) -> None:
    """Judge a run's tasks and trajectories by the graph of their rollouts: TopoCurate, a reconstruction."""
    with connection.client() as client:
        found = client.curation(run, first_step, last_step, groups, success, keep)
        saved = client.save_curation(run, first_step, last_step, groups, success) if save else None
        made = demonstrations(
            found, lambda one: client.trajectory(run, one.group_id, one.index).calls, forks or ()) if rows else []
    if out is not None:
        out.write_text("".join(one.model_dump_json() + "\n" for one in found.tasks))
    if rows is not None:
        rows.write_text("".join(json_text.dumps(row, ensure_ascii=False) + "\n" for row in made))
    if json:
        say(found.model_dump_json())
    else:
        _show(found)
    if saved is not None and not json:
        say(f"saved as version {saved.version}: {saved.usable} of {saved.tasks} tasks are drawn by it; name it in a "
            f"spec by algorithm.sampler: {{name: topocurate, params: {{run: {run}}}}}")


def demonstrations(
    found: Curation, calls_of: Callable[[CuratedTrajectory], Calls], forks: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return a dataset row for each selected trajectory of a task whose text is known.

    A single answer is a prompt and a completion. Of any other trajectory the row has the exact ids of the policy's
    calls, which `calls_of` reads, those of forks of the kinds `forks` included, and its last answer as the completion.
    """
    chosen = [(task.prompt, one) for task in found.tasks if task.prompt for one in task.trajectories if one.selected]
    return [row for prompt, one in chosen if (row := _row(prompt, one, calls_of, forks))]


def _row(
    prompt: str, one: CuratedTrajectory, calls_of: Callable[[CuratedTrajectory], Calls], forks: Collection[str]
) -> dict[str, Any] | None:
    if one.completion:
        return {"prompt": prompt, "completion": one.completion}
    calls = recorded.rows(calls_of(one), forks)
    last = next((call["text"] for call in reversed(calls) if call["text"]), "")
    return {"prompt": prompt, "completion": last, recorded.COLUMN: calls} if last else None


def _show(found: Curation) -> None:
    table(_COLUMNS, ([task.task_hash[:12], str(task.rollouts), f"{task.pass_rate:.2f}", f"{task.error_branches:.2f}",
                      f"{task.heterogeneity:.2f}", f"{task.score:.3f}", f"{task.probability:.3f}",
                      " ".join(f"{one.group_id}/{one.index}" for one in task.trajectories if one.selected)]
                     for task in found.tasks))
    selected = sum(one.selected for task in found.tasks for one in task.trajectories)
    say(f"{len(found.tasks)} tasks of steps {found.first_step} to {found.last_step}; {selected} trajectories selected")
    if found.truncated:
        say("older groups were left out: name steps, or more --groups")
