"""The number of groups in each step of a run: one size, or the sizes of a schedule."""

from pydantic import ValidationError

from hone.algorithms.schedules.batch_size import BATCH_SIZES, batches
from hone.spec.problems import Problem, found, from_validation, one_of
from hone.spec.run import BatchSpec, RunSpec


def sizes(spec: RunSpec) -> list[int]:
    """Return the groups of each step of a checked spec without stages, in order."""
    schedule = spec.batch.schedule
    if schedule is None:
        return [spec.batch.prompts] * spec.steps
    return batches(schedule.name, schedule.params, schedule.budget)


def filled(spec: RunSpec) -> BatchSpec:
    """Return a checked spec's batch with the schedule's parameters written out, and its largest size as prompts."""
    schedule = spec.batch.schedule
    if schedule is None:
        return spec.batch
    params = BATCH_SIZES[schedule.name].params.model_validate(schedule.params).model_dump(mode="json")
    return spec.batch.model_copy(update={
        "schedule": schedule.model_copy(update={"params": params}), "prompts": max(sizes(spec))})


def problems(spec: RunSpec) -> list[Problem]:
    """Return the problems of a schedule of batch sizes: its name, its parameters, or another number of steps."""
    schedule = spec.batch.schedule
    if schedule is None:
        return []
    if schedule.name not in BATCH_SIZES:
        return [Problem("batch.schedule.name", found(schedule.name), one_of(schedule.name, BATCH_SIZES))]
    try:
        made = len(sizes(spec))
    except ValidationError as error:
        return from_validation(error, BATCH_SIZES[schedule.name].params, "batch.schedule.params")
    if made == spec.steps:
        return []
    return [Problem("steps", str(spec.steps), f"{made}, the batches that batch.schedule makes of {schedule.budget} "
                    "groups")]
