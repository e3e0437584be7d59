"""`hone curate`: the structure of a run's rollouts, trajectories to imitate and tasks to train on."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from hone.cli import connection
from hone.cli.output import Json, say, table
from hone.client.curation import Curation

_COLUMNS = ("task", "rollouts", "pass rate", "error branches", "heterogeneity", "score", "probability", "selected")


def curate(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")], json: Json = False,
    first_step: Annotated[int, typer.Option(min=0, help="First step whose samples are read.")] = 0,
    last_step: Annotated[int, typer.Option(min=0, help="Last step whose samples are read.")] = 2**31 - 1,
    groups: Annotated[int, typer.Option(min=1, max=256, help="Newest groups that are read.")] = 64,
    success: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the grader's range from which a sample "
                                           "succeeds.")] = 1.0,
    keep: Annotated[int, typer.Option(min=1, max=64, help="Trajectories that are selected of each task.")] = 2,
    out: Annotated[Path | None, typer.Option(help="File for the manifest, one task a line, as JSON.")] = None,
    rows: Annotated[Path | None, typer.Option(help="File for rows with the prompts and completions of selected "
                                              "answers, which `hone data add` takes for a supervised run.")] = None,
) -> None:
    """Judge a run's tasks and trajectories by the graph of their rollouts: TopoCurate, a reconstruction."""
    with connection.client() as client:
        found = client.curation(run, first_step, last_step, groups, success, keep)
    if out is not None:
        out.write_text("".join(one.model_dump_json() + "\n" for one in found.tasks))
    if rows is not None:
        made = demonstrations(found)
        rows.write_text("".join(json_text.dumps(row, ensure_ascii=False) + "\n" for row in made))
    if json:
        say(found.model_dump_json())
    else:
        _show(found)


def demonstrations(found: Curation) -> list[dict[str, str]]:
    """Return a dataset row for each selected trajectory that is a single answer to a task whose text is known."""
    return [{"prompt": task.prompt, "completion": one.completion} for task in found.tasks if task.prompt
            for one in task.trajectories if one.selected and one.completion]


def _show(found: Curation) -> None:
    table(_COLUMNS, ([task.task_hash[:12], str(task.rollouts), f"{task.pass_rate:.2f}", f"{task.error_branches:.2f}",
                      f"{task.heterogeneity:.2f}", f"{task.score:.3f}", f"{task.probability:.3f}",
                      " ".join(f"{one.group_id}/{one.index}" for one in task.trajectories if one.selected)]
                     for task in found.tasks))
    selected = sum(one.selected for task in found.tasks for one in task.trajectories)
    say(f"{len(found.tasks)} tasks of steps {found.first_step} to {found.last_step}; {selected} trajectories selected, "
        f"{len(demonstrations(found))} of them single answers")
    if found.truncated:
        say("older groups were left out: name steps, or more --groups")
