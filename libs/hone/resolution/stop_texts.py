"""Stop texts beside the texts that graders and harnesses read: a mark that a stop text takes off is never read."""

from collections.abc import Iterator
from typing import Any

from hone.algorithms import presets
from hone.algorithms.slots import BUILDERS, SlotError
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders import specs
from hone.graders.contract import Mark
from hone.graders.specs import Spec
from hone.harnesses.catalogue import HARNESSES
from hone.resolution import names, sources
from hone.resolution.judges import own_grader
from hone.resolution.names import Slots
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, SamplingSpec, Slot, TaskSource
from hone.text.reasoning import MARKS

_JSON = Mark("{", "}")

Read = tuple[str, Mark]
"""Who reads a mark, in words, and the mark."""


def filled(spec: RunSpec) -> SamplingSpec:
    """Return a checked spec's sampling with `include_stop` written out: on where a stop text takes off a mark."""
    sampling = spec.sampling
    if sampling.include_stop is not None:
        return sampling
    asked = [*sources.of(spec), *sources.held_out(spec)]
    needed = any(_takes_off(stop, mark) for one in asked for stop in sampling.stop for _, mark in _read(one.spec))
    return sampling.model_copy(update={"include_stop": needed})


def problems(spec: RunSpec, slots: Slots) -> list[Problem]:  # noqa: ARG001
    """Return each stop text with which no answer could be right, whether it is kept or not."""
    graded = [(by, mark) for by, mark in _graded(spec) if spec.sampling.stop]
    wrong = [Problem(f"sampling.stop[{place}]", found(stop), f"a text that leaves {mark.opening}…{mark.closing} whole, "
                     f"because {by} reads it")
             for place, stop in enumerate(spec.sampling.stop) for by, mark in graded if _breaks(stop, mark)]
    wrong += [Problem("sampling.include_stop", "false", f"true or null, because {by} reads {mark.closing}, which stop "
                      f"text {found(stop)} takes off")
              for stop in spec.sampling.stop for by, mark in graded
              if spec.sampling.include_stop is False and _takes_off(stop, mark)]
    return list(dict.fromkeys([*wrong, *_thoughts(spec)]))


def _thoughts(spec: RunSpec) -> Iterator[Problem]:
    """A completion that ends with its reasoning says nothing."""
    if any(_reads_reasoning(one) for one in _graders(spec)):
        return
    for place, stop in enumerate(spec.sampling.stop):
        for closing in MARKS.values():
            if closing in stop:
                yield Problem(f"sampling.stop[{place}]", found(stop), f"a text that ends an answer: behind {closing} "
                              "the answer only begins")


def _takes_off(stop: str, mark: Mark) -> bool:
    """Whether a completion without the stop text lacks some of the closing mark."""
    closing = mark.closing
    overlap = any(stop.startswith(closing[start:]) for start in range(len(closing)))
    return closing in stop or stop in closing or overlap


def _breaks(stop: str, mark: Mark) -> bool:
    """Whether a completion always ends inside of a mark without which no answer is read."""
    inside = stop in mark.closing and mark.closing.find(stop) + len(stop) < len(mark.closing)
    return mark.needed and (stop in mark.opening or inside)


def _read(spec: RunSpec) -> Iterator[Read]:
    yield from _graded(spec)
    if names.of_harness(spec.harness) or names.of_source(spec.task, "task"):
        return
    harness = spec.harness or Slot(name=ENVIRONMENTS[spec.task.kind].harness)
    params = HARNESSES[harness.name].params.model_validate(harness.params)
    for tag in params.tags:
        yield f"harness {harness.name}", Mark(f"<{tag}>", f"</{tag}>", needed=False)
    for span in params.spans:
        yield f"span {span.name}", Mark(span.start, span.end, needed=False)


def _graded(spec: RunSpec) -> Iterator[Read]:
    for grader in _graders(spec):
        for one in list(grader.inner.values()) or [grader]:
            by = f"grader {one.params.type}"
            yield from ((by, mark) for mark in one.grader.marks(one.params))
            if "sample.output_json" in one.json:
                yield by, _JSON


def _graders(spec: RunSpec) -> Iterator[Spec]:
    """Yield the graders of the run's samples. One with a problem of its own, or of its source, is left out."""
    tasks: list[tuple[str, TaskSource]] = [] if presets.supervised(spec.algorithm) else [("task", spec.task)]
    if spec.eval is not None and (spec.eval.source is not None or not tasks):
        tasks.append(("eval.source", spec.eval.source or spec.task))
    for at, source in tasks:
        if spec.grader is not None or not names.of_source(source, at):
            given = spec.grader if spec.grader is not None else own_grader(source)
            if not names.of_grader(given, "grader"):
                yield specs.checked(given)
    yield from _judges(spec)


def _judges(spec: RunSpec) -> Iterator[Spec]:
    """Yield the grader of verdicts in a run that judges its own answers."""
    try:
        builder = presets.resolve(spec.algorithm)["builder"]
    except SlotError:
        return
    if BUILDERS[builder["name"]].judges_answers:
        params: Any = BUILDERS[builder["name"]].params.model_validate(builder["params"])
        yield specs.checked(params.grader())


def _reads_reasoning(grader: Spec) -> bool:
    return any(one.grader.reads_reasoning(one.params) for one in list(grader.inner.values()) or [grader])
