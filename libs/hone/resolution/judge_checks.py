"""Problems of a run's judge_check: its set, and whether its graders' judges can be measured on outputs alone."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from hone.algorithms.slots import SlotError
from hone.graders import labelled_sets, specs
from hone.graders.sample import Reads
from hone.graders.specs import Spec
from hone.resolution import sources
from hone.resolution.shape import covered
from hone.resolution.stages import Stage, stages
from hone.spec.problems import Invalid, Problem, found
from hone.spec.run import RunSpec


@dataclass(frozen=True)
class Gated:
    """A grader of a run that asks a judge, the numbers of the stages that it grades, and what tells it from others."""

    grader: Spec
    stages: frozenset[int]
    label: str  # empty where the run has one such grader


def problems(spec: RunSpec, unread: Collection[str] = ()) -> list[Problem]:
    """Return every problem of the field. `unread` are paths of fields whose values are not the user's."""
    check = spec.judge_check
    if check is None or any(covered(name, unread) for name in ("judge_check", "grader", "task", "stages")):
        return []
    wrong = labelled_sets.problem(check.set, "judge_check.set")
    return [*([wrong] if wrong else []), *_of_graders(spec)]


def _of_graders(spec: RunSpec) -> list[Problem]:
    try:
        graders = [grader for _, _, grader in _graders(spec)]
    except (Invalid, SlotError):  # reported where the grader or the algorithm is
        return []
    if not graders:
        return [Problem("judge_check", "a run without a grader of its own", "null, or a grader that asks a judge")]
    asking = {grader.hash: grader for grader in graders if grader.judges}
    if not asking:
        return [Problem("judge_check", f"a grader of type {graders[0].params.type}, which asks no judge",
                        "null, or a grader that asks a judge")]
    return [problem for grader in asking.values() for problem in unfit(grader, "judge_check")]


def gated(spec: RunSpec) -> list[Gated]:
    """Return each grader by which a checked run learns and that asks a judge, once, in the order of the stages."""
    places = dict[str, list[tuple[Stage, str, Spec]]]()
    for stage, source, grader in _graders(spec):
        if grader.judges:
            places.setdefault(grader.hash, []).append((stage, source, grader))
    several = len({stage.number for at in places.values() for stage, _, _ in at}) > 1
    return [Gated(at[0][2], frozenset(stage.number for stage, _, _ in at),
                  _label(*at[0][:2], several) if len(places) > 1 else "") for at in places.values()]


def _label(stage: Stage, source: str, several: bool) -> str:
    """Return how metrics name a grader: by its source, by its stage and the stage's number, or by both."""
    return ".".join(filter(None, [f"{stage.name}-{stage.number}" if several or not source else "", source]))


def _graders(spec: RunSpec) -> Iterator[tuple[Stage, str, Spec]]:
    """Yield the graders that train, with their stages and the names of their sources. Raises Invalid, SlotError."""
    for stage in stages(spec):
        for source in sources.of(stage.spec):
            if (grader := grader_of(source.spec)) is not None:
                yield stage, source.name, grader


def grader_of(spec: RunSpec) -> Spec | None:
    """Return the grader that a spec of one source of tasks names; None without one. Raises Invalid."""
    given = spec.grader if spec.grader is not None else spec.task.params.get("grader")
    return specs.checked(given) if isinstance(given, dict) else None


def unfit(grader: Spec, at: str) -> list[Problem]:
    """Return why a grader reads more than the outputs of a set."""
    beside = sorted(grader.reads - {Reads.OUTPUT})
    return [Problem(at, found(grader.params.type), f"a grader of single outputs; this grader reads the {beside[0]} as "
                    "well")
            ] if beside else []
