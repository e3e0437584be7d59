"""What holds at each step of a run: its stages in order, each with a spec of its own. Torch-free."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hone.algorithms import presets
from hone.algorithms.slots import SlotError
from hone.spec.role_rules import askable, reader
from hone.spec.run import BatchSpec, ContextsSpec, RolesSpec, RunSpec, StageSpec
from hone.spec.supervision import supervised


@dataclass(frozen=True)
class Stage:
    """Steps `first … last` of a run, and the spec that holds for them: as of a run of these steps alone."""

    number: int
    name: str
    first: int
    last: int
    spec: RunSpec


def stages(spec: RunSpec) -> list[Stage]:
    """Return a checked spec's stages; what follows the last of them, the whole run if it has none, is one more."""
    ends = [0, *(stage.until for stage in spec.stages), *([spec.steps] if _goes_on(spec) else [])]
    held = [*(of(spec, stage) for stage in spec.stages), rest(spec)]
    names = [*(stage.name for stage in spec.stages), ""]
    return [Stage(number, names[number] or held[number].algorithm.preset, before + 1, last,
                  held[number].model_copy(update={"steps": last - before, "stages": []}))
            for number, (before, last) in enumerate(pairwise(ends))]


def ends(spec: RunSpec) -> set[int]:
    """Return the last step of each stage."""
    return {stage.until for stage in spec.stages} | {spec.steps}


def of(spec: RunSpec, stage: StageSpec) -> RunSpec:
    """Return the spec of a stage: what it says itself, and the run's word on everything else.

    Held-out evaluation is the run's. A grader and a harness belong to their task, and a batch of given completions
    has one row a prompt.
    """
    own = {key: getattr(stage, key) for key in ("task", "algorithm", "sampling", "batch") if getattr(stage, key)}
    with_task = ("grader", "harness")
    own |= {key: getattr(stage, key) for key in with_task if getattr(stage, key) is not None or stage.task is not None}
    if stage.lr is not None:
        own["optimizer"] = spec.optimizer.model_copy(update={"lr": stage.lr})
    made = spec.model_copy(update={**own, "eval": None})
    return _heard(_without_samples(made, stage.batch) if supervised(made) else made)


def rest(spec: RunSpec) -> RunSpec:
    """Return the spec of the steps after all stages: the run's own, without what only its stages read."""
    return _heard(spec) if spec.stages else spec


def _without_samples(spec: RunSpec, said: BatchSpec | None) -> RunSpec:
    batch = said or BatchSpec(prompts=spec.batch.prompts)
    if "samples" not in batch.model_fields_set:
        batch = batch.model_copy(update={"samples": 1})
    return spec.model_copy(update={"batch": batch, "grader": None})


def _goes_on(spec: RunSpec) -> bool:
    return not spec.stages or spec.stages[-1].until < spec.steps


def _heard(spec: RunSpec) -> RunSpec:
    """Return the spec without a teacher, privileged texts or a critic that none of its own methods reads.

    Nor has it models for roles that none of its own environments asks.
    """
    try:
        slots = presets.resolve(spec.algorithm)
    except SlotError:  # told where the algorithm is checked
        return spec
    asks, taught = askable(spec), reader(slots, "logp_teacher", "support")
    asked = {role: one for role, one in spec.roles.asked.items() if role in asks}
    heard: dict[str, Any] = {"roles": RolesSpec(teacher=spec.roles.teacher if taught else None, asked=asked)}
    heard |= {} if taught else {"contexts": ContextsSpec()}
    return spec.model_copy(update=heard if reader(slots, "values") else {**heard, "critic": None})
