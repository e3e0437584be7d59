"""Problems of mixtures: their names, weights and what their sources have to share."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from hone.algorithms.slots import builder
from hone.resolution import names, scores, sources
from hone.resolution.names import Slots
from hone.spec.problems import Invalid, Problem, found, one_of
from hone.spec.run import EvalSpec, NamedSource, RunSpec

_SCALED = {"filter": {"contrast"}, "allocation": {"dynamo", "coba_rl", "v0", "v0_5"}, "advantage": {"v0_5"}}


def problems(spec: RunSpec, slots: Slots) -> Iterator[Problem]:
    """Yield the problems of a stage's mixture. Those of each source by itself are found elsewhere.

    `slots` are those of the stage's algorithm, {} if it has a problem.
    """
    if spec.task.mixture is None:
        return
    mixture = spec.task.mixture
    if len(mixture) < 2:
        yield Problem("task.mixture", f"{len(mixture)} source{'s' * (len(mixture) != 1)}",
                      "at least 2; a single source is the task itself, without mixture")
    yield from _repeated(mixture, "task.mixture")
    yield from names.of_harness(spec.harness)
    yield from names.of_grader(spec.grader, "grader") if spec.grader is not None else ()
    yield from _weights(spec)
    yield from _temperatures(spec)
    if slots:
        yield from _one_range(spec, slots)
        if builder(slots).judges_answers:
            yield Problem("task.mixture", f"{len(mixture)} sources", "a single task, because builder "
                          f"{slots['builder']['name']} judges the answers to a single task")


def of_evaluation(spec: RunSpec) -> Iterator[Problem]:
    """Yield the problems of the sources of a run's evaluation with one another and with the task's sources."""
    evaluation = spec.eval
    if evaluation is None or evaluation.sources is None:
        return
    if evaluation.source is not None:
        yield Problem("eval.sources", f"{len(evaluation.sources)} sources as well as eval.source", "only eval.source "
                      "or only eval.sources")
    yield from _repeated(evaluation.sources, "eval.sources")
    yield from _unknown(spec, evaluation)


def _unknown(spec: RunSpec, evaluation: EvalSpec) -> Iterator[Problem]:
    known = [one.name for one in spec.task.mixture or ()]
    for place, one in sources.references(evaluation.sources):
        if one.name not in known:
            expected = f"{one_of(one.name, known)}, the sources of task.mixture" if known else "an environment or a " \
                "dataset with the name, because the task is not a mixture"
            yield Problem(f"eval.sources[{place}].name", found(one.name), expected)


def _repeated(named: Sequence[NamedSource], at: str) -> Iterator[Problem]:
    seen = Counter[str]()
    for place, one in enumerate(named):
        seen[one.name] += 1
        if seen[one.name] == 2:
            yield Problem(f"{at}[{place}].name", f"{found(one.name)} a second time", "a name that no other source has")


def _weights(spec: RunSpec) -> Iterator[Problem]:
    mixture = spec.task.mixture or []
    given = [one for one in mixture if one.weight is not None]
    for place, one in enumerate(mixture):
        at = f"task.mixture[{place}].weight"
        if one.weight is None and given:
            yield Problem(at, found(None), "a weight above 0, as other sources have; or no weight in any of them")
        elif one.weight is None and one.dataset is None:
            yield Problem(at, found(None), "a weight above 0, because an environment makes tasks without end: it has "
                          "no number of rows to weigh it by")
    if given and spec.task.temperature is not None:
        yield Problem("task.temperature", str(spec.task.temperature), "null, because the sources have weights")


def _temperatures(spec: RunSpec) -> Iterator[Problem]:
    """The trainer scores all tokens of a step at one temperature."""
    for one in sources.of(spec):
        own, ours = one.spec.sampling.temperature, spec.sampling.temperature
        if own != ours:
            yield Problem(f"{one.at}.sampling.temperature", str(own),
                          f"{ours}, as in the stage: a step is trained at a single temperature")


def _one_range(spec: RunSpec, slots: Slots) -> Iterator[Problem]:
    """A method that reads scores by their range needs one range for all sources."""
    for slot, methods in _SCALED.items():
        filling: Any = slots[slot]
        if filling["name"] in methods and len(ranges := _ranges(spec)) > 1:
            yield Problem(f"algorithm.{slot}.name", found(filling["name"]), "a method that does not read scores by "
                          f"their range: the graders of the sources have different ranges, {_listed(ranges)}")


def _ranges(spec: RunSpec) -> list[tuple[float, float]]:
    try:
        return sorted({scores.bounds(one.spec) for one in sources.of(spec)})
    except Invalid:  # a problem of the grader, reported there
        return []


def _listed(ranges: Sequence[tuple[float, float]]) -> str:
    return " and ".join(f"{low:g} to {high:g}" for low, high in ranges)
