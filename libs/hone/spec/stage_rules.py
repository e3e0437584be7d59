"""Rules of a run's stages: where they end, and what each of them needs."""

import re
from collections.abc import Collection, Iterator

from hone.algorithms import presets
from hone.spec.problems import Problem, found
from hone.spec.resolution_rules import check
from hone.spec.role_rules import askable, reader, unasked
from hone.spec.run import CriticSpec, RunSpec, StageSpec
from hone.spec.stages import of, stages
from hone.spec.supervision import builder_of


def problems(spec: RunSpec, known: Collection[Problem]) -> list[Problem]:
    """Return every problem of a run's stages that is not one of the run's, which are `known`."""
    if not spec.stages:
        return []
    wrong = [*_sizes(spec), *_phases(spec)]
    if wrong:
        return [*_ends(spec), *wrong]
    each = {problem: None for place, stage in enumerate(spec.stages) for problem in _of(spec, place, stage, known)}
    told = [*_ends(spec), *each]
    return [*told, *([] if told or known else _unheard(spec))]


def filled_critic(spec: RunSpec) -> CriticSpec | None:
    """Return a checked spec's critic with every default written out; None where nobody reads values."""
    reads = any(reader(presets.resolve(stage.spec.algorithm), "values") for stage in stages(spec))
    return (spec.critic or CriticSpec()) if reads else None


def _ends(spec: RunSpec) -> Iterator[Problem]:
    before = 0
    for place, stage in enumerate(spec.stages):
        if not before < stage.until <= spec.steps:
            yield Problem(f"stages[{place}].until", str(stage.until),
                          f"more than {before}, where the stage begins, and at most the run's {spec.steps} steps")
        before = stage.until


def _sizes(spec: RunSpec) -> Iterator[Problem]:
    """Sizes that change over a budget are those of a run of one kind."""
    of_stages = ((f"stages[{place}].batch", stage.batch) for place, stage in enumerate(spec.stages))
    for at, batch in (("batch", spec.batch), *of_stages):
        if batch is not None and batch.schedule is not None:
            yield Problem(f"{at}.schedule", found(batch.schedule.name), "null, because each stage has its own size")


def _phases(spec: RunSpec) -> Iterator[Problem]:
    """Judgements of the run's own answers have phases that count all steps of a run."""
    of_stages = ((f"stages[{place}].algorithm", stage.algorithm) for place, stage in enumerate(spec.stages))
    for at, algorithm in (("algorithm", spec.algorithm), *of_stages):
        if algorithm is not None and builder_of(algorithm) == "self_verify":
            yield Problem(f"{at}.builder", found("self_verify"), "another builder beside stages, because this one has "
                          "phases of its own")


def _of(spec: RunSpec, place: int, stage: StageSpec, known: Collection[Problem]) -> list[Problem]:
    """Return what is wrong with a stage, named where it can be said: in the stage, or in the run."""
    wrong, _ = check(of(spec, stage))
    return [Problem(_named(problem.field, place), problem.found, problem.expected)
            for problem in wrong if problem not in known]


def _named(field: str, number: int) -> str:
    if field == "optimizer.lr":
        return f"stages[{number}].lr"
    own = re.split(r"[.\[]", field, maxsplit=1)[0] in StageSpec.model_fields
    return f"stages[{number}].{field}" if own else field


def _unheard(spec: RunSpec) -> Iterator[Problem]:
    """Whoever is named is read by a method of some stage, or asked by an environment of one or of the evaluation."""
    read = [presets.resolve(stage.spec.algorithm) for stage in stages(spec)]
    taught = any(reader(slots, "logp_teacher", "support") for slots in read)
    for at, given, by in (("roles.teacher", spec.roles.teacher is not None, taught),
                          ("contexts.privileged", bool(spec.contexts.privileged), taught),
                          ("critic", spec.critic is not None, any(reader(slots, "values") for slots in read))):
        if given and not by:
            yield Problem(at, "one", "none, because no method of any stage reads what it says")
    asks = askable(spec).union(*(askable(stage.spec) for stage in stages(spec)))
    for role, one in spec.roles.asked.items():
        if role not in asks:
            yield Problem(f"roles.asked.{role}", found(one.model), unasked(role, asks))
