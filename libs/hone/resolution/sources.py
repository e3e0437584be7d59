"""The sources of a run's tasks: a plain task is one source without a name, a mixture or an evaluation has several.

Each source has a spec that reads like that of a run of this source alone, so that all other code knows one task.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from hone.spec.run import EvalSource, NamedSource, RunSpec, SamplingSpec, TaskSource, TaskSpec

OWN = ("grader", "harness", "sampling")
"""Fields that a source may have of its own; what it leaves out is the stage's."""


@dataclass(frozen=True)
class Source:
    """Tasks of one source: its name, the field of the spec that holds it, and a spec with these tasks alone."""

    name: str  # "" for a plain task
    at: str
    spec: RunSpec
    own: frozenset[str] = field(default_factory=frozenset)  # the fields of OWN that it gives
    weight: float | None = None
    stage: str = ""  # what precedes the paths of the stage's fields, for instance "stages[0]."

    def inside(self, stage: str) -> "Source":
        """Return the source with its place in a whole spec, where `stage` precedes the paths of its stage."""
        return replace(self, at=f"{stage}{self.at}", stage=stage)

    @property
    def held_out_alone(self) -> bool:
        """Whether its tasks are for evaluation alone."""
        return self.at.startswith("eval.")

    def path(self, path: str) -> str:
        """Return the path in the whole spec of a path in the source's own spec."""
        root, rest = _root(path)
        if root == "task":
            return f"{self.at}{rest}"
        absent = root in OWN and getattr(self.spec, root) is None
        return f"{self.at}.{path}" if self.name and (root in self.own or absent) else f"{self.stage}{path}"

    def own_paths(self, paths: Collection[str]) -> set[str]:
        """Return the paths in the source's own spec of paths in the whole spec; those of other sources are left out."""
        found = set[str]()
        for path in paths:
            if path.startswith(f"{self.at}."):
                inner = path.removeprefix(f"{self.at}.")
                found.add(inner if self.name and _root(inner)[0] in OWN else f"task.{inner}")
            elif not path.startswith(("task.mixture[", "eval.sources[")):
                found.add(path)
        return found


def of(spec: RunSpec) -> list[Source]:
    """Return the sources that a stage trains on; `spec` is the stage's."""
    if spec.task.mixture is None:
        return [Source("", "task", spec)]
    return [_named(spec, one, f"task.mixture[{place}]", one.weight) for place, one in enumerate(spec.task.mixture)]


def held_out(spec: RunSpec) -> list[Source]:
    """Return the sources that a run is evaluated on: those of `eval`, or else the task's own; [] without evaluation.

    A source of `eval` that names none of the task's is left out.
    """
    if spec.eval is None:
        return []
    if spec.eval.sources is not None:
        trained = {one.name: one for one in of(spec)}
        found = [trained.get(one.name) if one.is_reference else _asked(_named(spec, one, f"eval.sources[{place}]"))
                 for place, one in enumerate(spec.eval.sources)]
        return [one for one in found if one is not None]
    if spec.eval.source is not None:
        return [Source("", "eval.source", _with_task(spec, spec.eval.source))]
    return of(spec)


def _named(spec: RunSpec, source: NamedSource, at: str, weight: float | None = None) -> Source:
    given = {name: getattr(source, name) for name in OWN if getattr(source, name) is not None}
    if source.sampling is not None:
        given["sampling"] = _merged(spec.sampling, source.sampling)
    return Source(source.name, at, _with_task(spec, source).model_copy(update=given), frozenset(given), weight)


def _asked(source: Source) -> Source:
    """Return a source of an evaluation with an evaluation of its tasks alone."""
    evaluation = source.spec.eval and source.spec.eval.model_copy(update={"source": source.spec.task, "sources": None})
    return replace(source, spec=source.spec.model_copy(update={"eval": evaluation}))


def _merged(stage: SamplingSpec, own: SamplingSpec) -> SamplingSpec:
    return stage.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def _with_task(spec: RunSpec, source: TaskSource) -> RunSpec:
    task = TaskSpec(environment=source.environment, params=source.params, dataset=source.dataset,
                    noise=source.noise)
    return spec.model_copy(update={"task": task})


def _root(path: str) -> tuple[str, str]:
    """Return the first name of a path, and the rest."""
    match = re.match(r"[^.\[]*", path)
    root = match.group() if match else path
    return root, path[len(root):]


def same_tasks(first: TaskSource, second: TaskSource) -> bool:
    """Return whether two sources of a resolved spec have the same tasks."""
    return _tasks(first) == _tasks(second)


def _tasks(source: TaskSource) -> tuple[Any, ...]:
    return source.environment, source.params, source.dataset


def references(sources: Collection[EvalSource] | None) -> list[tuple[int, EvalSource]]:
    """Return the sources of an evaluation that name a source of the task, with their places."""
    return [(place, one) for place, one in enumerate(sources or ()) if one.is_reference]
