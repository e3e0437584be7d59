"""Problems of a run's judge_check: its set, and whether the run has a judge that can be measured on outputs alone."""

from collections.abc import Collection

from hone.graders import labelled_sets, specs
from hone.graders.sample import Reads
from hone.graders.specs import Spec
from hone.resolution.shape import covered
from hone.spec.problems import Invalid, Problem, found
from hone.spec.run import RunSpec


def problems(spec: RunSpec, unread: Collection[str] = ()) -> list[Problem]:
    """Return every problem of the field. `unread` are paths of fields whose values are not the user's."""
    check = spec.judge_check
    if check is None or covered("judge_check", unread) or covered("grader", unread) or covered("task", unread):
        return []
    wrong = labelled_sets.problem(check.set, "judge_check.set")
    return [*([wrong] if wrong else []), *_of_grader(spec)]


def _of_grader(spec: RunSpec) -> list[Problem]:
    try:
        grader = grader_of(spec)
    except Invalid:  # reported where the grader is
        return []
    if grader is None:
        return [Problem("judge_check", "a run without a grader of its own", "null, or a grader that asks a judge")]
    if not grader.judges:
        return [Problem("judge_check", f"a grader of type {grader.params.type}, which asks no judge",
                        "null, or a grader that asks a judge")]
    return unfit(grader, "judge_check")


def grader_of(spec: RunSpec) -> Spec | None:
    """Return the run's own grader; None without one. Raises Invalid."""
    given = spec.grader if spec.grader is not None else spec.task.params.get("grader")
    return specs.checked(given) if isinstance(given, dict) else None


def unfit(grader: Spec, at: str) -> list[Problem]:
    """Return why a grader reads more than the outputs of a set."""
    beside = sorted(grader.reads - {Reads.OUTPUT})
    return [Problem(at, found(grader.params.type), f"a grader of single outputs; this one reads the {beside[0]}")
            ] if beside else []
