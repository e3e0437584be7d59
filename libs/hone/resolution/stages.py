"""The stages of a run: consecutive steps, each stage with a complete spec of its own, and the problems of stages."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS, SlotError
from hone.resolution.combinations import check
from hone.resolution.roles import askable, reader, unasked
from hone.spec.problems import Problem, found
from hone.spec.roles import ContextsSpec, RolesSpec
from hone.spec.run import BatchSpec, RunSpec, StageSpec


@dataclass(frozen=True)
class Stage:
    """Steps `first … last` of a run, and their spec, which reads like that of a run of these steps alone."""

    number: int
    name: str
    first: int
    last: int
    spec: RunSpec


def stages(spec: RunSpec) -> list[Stage]:
    """Return a checked spec's stages in order. Steps after the last listed stage, or all steps, are one more stage."""
    ends = [0, *(stage.until for stage in spec.stages), *([spec.steps] if _goes_on(spec) else [])]
    specs = [*(stage_spec(spec, stage) for stage in spec.stages), rest(spec)]
    names = [*(stage.name for stage in spec.stages), ""]
    return [Stage(number, names[number] or specs[number].algorithm.preset, before + 1, last,
                  specs[number].model_copy(update={"steps": last - before, "stages": []}))
            for number, (before, last) in enumerate(pairwise(ends))]


def ends(spec: RunSpec) -> set[int]:
    """Return the last step of each stage."""
    return {stage.until for stage in spec.stages} | {spec.steps}


def stage_spec(spec: RunSpec, stage: StageSpec) -> RunSpec:
    """Return the whole spec of a stage: its own fields, and the run's for all others, without evaluation.

    A stage with a task of its own does not inherit grader and harness. A supervised stage has one row a prompt.
    """
    own = {key: getattr(stage, key) for key in ("task", "algorithm", "sampling", "batch") if getattr(stage, key)}
    with_task = ("grader", "harness")
    own |= {key: getattr(stage, key) for key in with_task if getattr(stage, key) is not None or stage.task is not None}
    if stage.lr is not None:
        own["optimizer"] = spec.optimizer.model_copy(update={"lr": stage.lr})
    made = spec.model_copy(update={**own, "eval": None})
    return _without_unread(_without_samples(made, stage.batch) if presets.supervised(made.algorithm) else made)


def rest(spec: RunSpec) -> RunSpec:
    """Return the spec of the steps after all stages: the run's, without models and texts that only its stages read."""
    return _without_unread(spec) if spec.stages else spec


def _without_samples(spec: RunSpec, own: BatchSpec | None) -> RunSpec:
    batch = own or BatchSpec(prompts=spec.batch.prompts)
    if "samples" not in batch.model_fields_set:
        batch = batch.model_copy(update={"samples": 1})
    return spec.model_copy(update={"batch": batch, "grader": None})


def _goes_on(spec: RunSpec) -> bool:
    return not spec.stages or spec.stages[-1].until < spec.steps


def _without_unread(spec: RunSpec) -> RunSpec:
    """Return the spec without models and texts that its own methods and environments do not use.

    These are a teacher, privileged texts, a critic and models of asked roles.
    """
    try:
        slots = presets.resolve(spec.algorithm)
    except SlotError:  # reported by the check of the algorithm
        return spec
    asks, taught = askable(spec), reader(slots, "logp_teacher", "support")
    asked = {role: one for role, one in spec.roles.asked.items() if role in asks}
    used: dict[str, Any] = {"roles": RolesSpec(teacher=spec.roles.teacher if taught else None, asked=asked)}
    used |= {} if taught else {"contexts": ContextsSpec()}
    return spec.model_copy(update=used if reader(slots, "values") else {**used, "critic": None})


def problems(spec: RunSpec, known: Collection[Problem], unread: Collection[str] = ()) -> list[Problem]:
    """Return every problem of a run's stages that is not among the run's own, `known`.

    `unread` are paths of the run's fields whose values are not the user's.
    """
    if not spec.stages:
        return []
    unstaged = [*_sizes(spec), *_phases(spec)]
    if unstaged:
        return [*_ends(spec), *unstaged]
    of_each = [problem for place, stage in enumerate(spec.stages)
               for problem in _of_stage(spec, place, stage, known, unread)]
    wrong = [*_ends(spec), *dict.fromkeys(of_each)]
    return [*wrong, *([] if wrong or known else _unread(spec))]


def _ends(spec: RunSpec) -> Iterator[Problem]:
    before = 0
    for place, stage in enumerate(spec.stages):
        if not before < stage.until <= spec.steps:
            yield Problem(f"stages[{place}].until", str(stage.until),
                          f"more than {before}, where the stage begins, and at most the run's {spec.steps} steps")
        before = stage.until


def _sizes(spec: RunSpec) -> Iterator[Problem]:
    """A schedule of batch sizes counts all groups of a run, so a run with stages has none."""
    of_stages = ((f"stages[{place}].batch", stage.batch) for place, stage in enumerate(spec.stages))
    for at, batch in (("batch", spec.batch), *of_stages):
        if batch is not None and batch.schedule is not None:
            yield Problem(f"{at}.schedule", found(batch.schedule.name), "null, because each stage has its own size")


def _phases(spec: RunSpec) -> Iterator[Problem]:
    """A builder that judges the run's answers has phases that count all steps, so a run with stages has none."""
    of_stages = ((f"stages[{place}].algorithm", stage.algorithm) for place, stage in enumerate(spec.stages))
    for at, algorithm in (("algorithm", spec.algorithm), *of_stages):
        name = "" if algorithm is None else presets.builder_of(algorithm)
        if name in BUILDERS and BUILDERS[name].judges_answers:
            yield Problem(f"{at}.builder", found(name), "another builder, or no stages, because this builder "
                          "has phases of its own")


def _of_stage(
    spec: RunSpec, place: int, stage: StageSpec, known: Collection[Problem], unread: Collection[str],
) -> list[Problem]:
    """Return the problems of a stage. Each names a field of the stage, or of the run where stages lack that field."""
    wrong, _ = check(stage_spec(spec, stage), unread)
    return [Problem(_named(problem.field, place), problem.found, problem.expected)
            for problem in wrong if problem not in known]


def _named(field: str, number: int) -> str:
    if field == "optimizer.lr":
        return f"stages[{number}].lr"
    own = re.split(r"[.\[]", field, maxsplit=1)[0] in StageSpec.model_fields
    return f"stages[{number}].{field}" if own else field


def _unread(spec: RunSpec) -> Iterator[Problem]:
    """Each model that the run names is used by a stage's method or environment, or by the evaluation."""
    read = [presets.resolve(stage.spec.algorithm) for stage in stages(spec)]
    taught = any(reader(slots, "logp_teacher", "support") for slots in read)
    for at, given, by in (("roles.teacher", spec.roles.teacher is not None, taught),
                          ("contexts.privileged", bool(spec.contexts.privileged), taught),
                          ("critic", spec.critic is not None, any(reader(slots, "values") for slots in read))):
        if given and not by:
            yield Problem(at, "a value", "no value, because no method of any stage reads it")
    asks = askable(spec).union(*(askable(stage.spec) for stage in stages(spec)))
    for role, one in spec.roles.asked.items():
        if role not in asks:
            yield Problem(f"roles.asked.{role}", found(one.named), unasked(role, asks))
