"""The task that a person plays: checked as the task of a run is, and made of a dataset's row or drawn by a seed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from starlette.concurrency import run_in_threadpool

from hone.client.play_resources import TaskSplit
from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.rows import lines
from hone.resolution import read
from hone.spec.problems import Invalid, Problem, found
from hone.spec.run import RunSpec, TaskSource
from hone.spec.settings import Settings
from hone.store.objects import ObjectMissing, Objects
from services.gateway.admission import graders, judges, packages, references, task_rows
from services.gateway.middleware.tenancy import TenantSession

_AROUND: dict[str, Any] = {"name": "play", "model": {"base": "none"}, "steps": 1, "eval": None}
"""The rest of a spec whose task is read; nothing in it has a problem."""
_AT = "task."


@dataclass(frozen=True)
class PlaySource:
    """A checked source of tasks, and which of its tasks is played."""

    source: TaskSource
    item: str | None  # a row as JSON; None: the environment makes the task
    row: int | None
    seed: int | None
    split: TaskSplit | None


async def checked(
    session: TenantSession, objects: Objects, settings: Settings, task: Mapping[str, Any], row: int | None,
    seed: int | None, split: TaskSplit,
) -> PlaySource:
    """Return the source to play. `task` is as the task of a spec. Raises Invalid with every problem that was found."""
    try:
        spec = await _read(session, settings, task)
    except Invalid as wrong:
        raise Invalid([own_problem(one) for one in wrong.problems]) from None
    if spec.task.dataset is None:
        if row is not None:
            raise Invalid([Problem("row", str(row), "nothing, because without a dataset the environment makes tasks")])
        return PlaySource(spec.task, None, None, seed or 0, split)
    if seed is not None:
        raise Invalid([Problem("seed", str(seed), "nothing, because a dataset's row is the task")])
    number = row or 1
    return PlaySource(spec.task, await _row(session, objects, spec.task, number), number, None, None)


async def _read(session: TenantSession, settings: Settings, task: Mapping[str, Any]) -> RunSpec:
    """Check a source as the task of a run: by itself, then what it names. Raises Invalid."""
    named = await packages.pinned(session, await graders.filled(session, {**_AROUND, "task": dict(task)}))
    reading = await run_in_threadpool(read, named)
    if reading.problems:
        raise Invalid(reading.problems)
    wanted = {*(ENVIRONMENTS[reading.spec.task.kind].columns or ())}
    async with session.transaction() as transaction:
        problems = [
            *await references.dataset_problems(transaction, settings, reading.spec.task, "task", wanted),
            *await judges.problems(transaction, reading.spec)]
    if problems:
        raise Invalid(problems)
    return reading.spec


def own_problem(problem: Problem) -> Problem:
    """Return a problem of a run's task with the field as the request has it, which is that task itself."""
    if problem.field in (f"{_AT}item", "item"):
        return Problem("dataset", "nothing", "a dataset, because its rows are the tasks of this environment")
    field = "environment" if problem.field == "task" else problem.field.removeprefix(_AT)
    return replace(problem, field=field, expected=problem.expected.replace(_AT, "").removesuffix("; or mixture"))


async def _row(session: TenantSession, objects: Objects, source: TaskSource, number: int) -> str:
    """Return a row of a dataset, counted from 1, as JSON. Raises Invalid."""
    async with session.transaction() as transaction:
        stored = await transaction.one("artifacts.named", kind="dataset", name=source.dataset)
    if stored is None:
        raise Invalid([Problem("dataset", found(source.dataset), "an uploaded dataset (`hone data list`)")])
    rows = stored["manifest"]["rows"]
    if number > rows:
        raise Invalid([Problem("row", str(number), f"1 to {rows}, the rows of {source.dataset}")])
    key = stored["manifest"]["files"][task_rows.FILE]["key"]
    line = await task_rows.read_apart(session.tenant_id, _line, objects, key, number)
    if line is None:
        raise Invalid([Problem("dataset", f"{source.dataset}, without stored rows",
                               "a dataset that is uploaded again, under another name")])
    return line


def _line(objects: Objects, key: str, number: int) -> str | None:
    try:
        line = next(islice(filter(bytes.strip, lines(objects.read(key))), number - 1, None), None)
    except ObjectMissing:
        return None
    return None if line is None else line.decode()


def params_json(source: TaskSource) -> str:
    """Return the parameters as the simulation service takes them."""
    return json.dumps(source.params)
