"""The number of groups in each step of a run: one size, or the sizes of a schedule."""

from pydantic import ValidationError

from hone.algorithms.catalogue import BATCH_SIZES
from hone.algorithms.schedules.batch_size import batches
from hone.algorithms.schedules.step_sizes import Piece, StepSizes
from hone.spec.problems import Problem, found, from_validation, one_of
from hone.spec.run import BatchSpec, RunSpec

MOST_GROUPS, MOST_SAMPLES = 2**16, 2**18
"""Groups that a run may have open at a time, and their samples. A driver holds their rows in memory."""


def sizes(spec: RunSpec) -> StepSizes:
    """Return the groups of each step of a checked spec without stages."""
    schedule = spec.batch.schedule
    if schedule is None:
        return StepSizes((Piece(spec.steps, spec.batch.prompts),))
    return batches(schedule.name, schedule.params, schedule.budget)


def filled(spec: RunSpec) -> BatchSpec:
    """Return a checked spec's batch with the schedule's parameters written out, and its largest size as prompts."""
    schedule = spec.batch.schedule
    if schedule is None:
        return spec.batch
    params = BATCH_SIZES[schedule.name].params.model_validate(schedule.params).model_dump(mode="json")
    return spec.batch.model_copy(update={
        "schedule": schedule.model_copy(update={"params": params}), "prompts": sizes(spec).largest})


def problems(spec: RunSpec) -> list[Problem]:
    """Return the problems of the size of a step.

    They are those of a schedule of batch sizes: its name, its parameters, or another number of steps; or the size is
    more than a run may have open at a time.
    """
    return _of_schedule(spec) or _open_at_a_time(spec)


def _open_at_a_time(spec: RunSpec) -> list[Problem]:
    steps, size = 1 + spec.max_staleness, sizes(spec).largest
    at = "batch.prompts" if spec.batch.schedule is None else "batch.schedule.params"
    beside = f" with max_staleness {spec.max_staleness}" if spec.max_staleness else ""
    if size * steps > MOST_GROUPS:
        return [Problem(at, str(size), f"at most {MOST_GROUPS // steps}{beside}: a run has at most {MOST_GROUPS} "
                        "groups open at a time")]
    if size * steps * spec.batch.samples > MOST_SAMPLES:
        return [Problem("batch.samples", str(spec.batch.samples), f"at most {MOST_SAMPLES // (size * steps)} with "
                        f"{size} groups of a step{beside}: a run has at most {MOST_SAMPLES} samples open at a time")]
    return []


def _of_schedule(spec: RunSpec) -> list[Problem]:
    schedule = spec.batch.schedule
    if schedule is None:
        return []
    if schedule.name not in BATCH_SIZES:
        return [Problem("batch.schedule.name", found(schedule.name), one_of(schedule.name, BATCH_SIZES))]
    try:
        made = sizes(spec).steps
    except ValidationError as error:
        return from_validation(error, BATCH_SIZES[schedule.name].params, "batch.schedule.params")
    if made == spec.steps:
        return []
    return [Problem("steps", str(spec.steps), f"{made}, the batches that batch.schedule makes of {schedule.budget} "
                    "groups")]
