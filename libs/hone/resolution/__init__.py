"""Resolves a run spec against the catalogues of methods, environments, harnesses and graders.

The result is a spec with every default written out, or every problem at once.
"""

import re
from dataclasses import dataclass
from typing import Any, TypeVar

from hone.algorithms import presets
from hone.environments.catalogue import ENVIRONMENTS
from hone.harnesses.catalogue import HARNESSES
from hone.resolution import batches, evaluation_only, judge_checks, packages, shape, sources, stages, stop_texts
from hone.resolution.combinations import check
from hone.resolution.roles import reader
from hone.resolution.shape import covered
from hone.spec.model import LoraSpec, ModelSpec
from hone.spec.problems import Invalid, Problem, too_many, unstorable
from hone.spec.run import (
    AlgorithmSpec,
    CriticSpec,
    EvalSpec,
    NamedSource,
    RunSpec,
    Slot,
    StageSpec,
    TaskSource,
    TaskSpec,
)

Fields = dict[str, Any]
Tasks = TypeVar("Tasks", bound=TaskSource)
Named = TypeVar("Named", bound=NamedSource)


@dataclass(frozen=True)
class Reading:
    """A spec as far as it could be read, and every problem that needs no server.

    `unread` are the paths of fields that have a default or a stand-in because they have a wrong shape. The spec has
    every default written out where it has no problem.
    """

    spec: RunSpec
    problems: list[Problem]
    unread: frozenset[str] = frozenset()

    def is_wrong(self, field: str) -> bool:
        """Return whether a field, a part of it, or what it is part of has a problem."""
        return covered(field, {*self.unread, *(problem.field for problem in self.problems)})


def resolve(raw: Fields) -> RunSpec:
    """Return the spec with every slot of its algorithm and every default written out.

    A resolved spec resolves to itself. Raises Invalid with all problems: unknown keys, wrong types, unknown names and
    combinations that cannot train.
    """
    reading = read(raw)
    if reading.problems:
        raise Invalid(reading.problems)
    return reading.spec


def read(raw: Fields) -> Reading:
    """Return a spec and all its problems. What is right is checked beside what is wrong.

    Raises Invalid with the problems of a spec of which nothing can be read.
    """
    if many := too_many(raw):
        raise Invalid([many])
    stored = unstorable(raw)
    if any("deep" in problem.found for problem in stored):
        raise Invalid(stored)
    found = shape.read(raw)
    problems = stored + [problem for problem in found.problems if problem.field not in {one.field for one in stored}]
    spec, unread = found.spec, found.unread | {re.split(r"[.\[]", problem.field)[0] for problem in stored}
    spec = _without_rollouts(spec, raw) if presets.supervised(spec.algorithm) else spec
    if not covered("stages", unread):
        of_run, _ = check(stages.rest(spec), unread)
        problems += [*of_run, *stages.problems(spec, [*problems, *of_run], unread)]
        problems += [*judge_checks.problems(spec, unread), *evaluation_only.problems(spec, unread)]
    problems += packages.problems(spec)
    return Reading(spec if problems else _resolved(spec), problems, unread)


def _resolved(spec: RunSpec) -> RunSpec:
    resolved = spec.model_copy(update={
        **_filled(spec), "eval": _filled_eval(spec), "model": _filled_model(spec.model),
        "critic": _filled_critic(spec), "stages": [_filled_stage(spec, stage) for stage in spec.stages]})
    return resolved.model_copy(update={"packages": packages.of(resolved)})


def _without_rollouts(spec: RunSpec, raw: Fields) -> RunSpec:
    """Give a supervised run its own defaults: no evaluation, and one sample a prompt."""
    defaults: Fields = {} if "eval" in raw else {"eval": None}
    given = raw.get("batch")
    if not isinstance(given, dict) or "samples" not in given:
        defaults["batch"] = spec.batch.model_copy(update={"samples": 1})
    return spec.model_copy(update=defaults)


def _filled(spec: RunSpec) -> Fields:
    """Return the fields that runs and stages share, with every default written out."""
    slots = presets.resolve(spec.algorithm)
    mixed = spec.task.mixture is not None
    return {"algorithm": AlgorithmSpec.model_validate({"preset": spec.algorithm.preset, **slots}),
            "task": _filled_mixture(spec) if mixed else _filled_source(spec.task),
            "harness": spec.harness if mixed else _filled_harness(spec), "batch": batches.filled(spec),
            "sampling": stop_texts.filled(spec)}


def _filled_mixture(spec: RunSpec) -> TaskSpec:
    mixture = [_filled_named(one, source.spec)
               for one, source in zip(spec.task.mixture or (), sources.of(spec), strict=True)]
    return spec.task.model_copy(update={"mixture": mixture})


def _filled_named(named: Named, spec: RunSpec) -> Named:
    """Return a source with its own fields written out; `spec` is that of the source."""
    return _filled_source(named).model_copy(update={
        "grader": spec.grader, "harness": _filled_harness(spec), "sampling": stop_texts.filled(spec)})


def _filled_stage(spec: RunSpec, stage: StageSpec) -> StageSpec:
    whole = stages.stage_spec(spec, stage)
    return stage.model_copy(update={**_filled(whole), "grader": whole.grader,
                                    "lr": whole.optimizer.lr, "name": stage.name or whole.algorithm.preset})


def _filled_source(source: Tasks) -> Tasks:
    model = ENVIRONMENTS[source.kind].params
    return source.model_copy(update={"params": model.model_validate(source.params).model_dump(mode="json")})


def _filled_harness(spec: RunSpec) -> Slot:
    """Return the spec's harness, or else its environment's own, with every parameter written out."""
    harness = spec.harness or Slot(name=ENVIRONMENTS[spec.task.kind].harness)
    params = HARNESSES[harness.name].params.model_validate(harness.params)
    return harness.model_copy(update={"params": params.model_dump(mode="json")})


def _filled_eval(spec: RunSpec) -> EvalSpec | None:
    if spec.eval is None:
        return None
    if spec.eval.sources is not None:
        given = zip(spec.eval.sources, sources.held_out(spec), strict=True)
        return spec.eval.model_copy(update={"sources": [
            one if one.is_reference else _filled_named(one, source.spec) for one, source in given]})
    source = spec.eval.source and _filled_source(spec.eval.source)
    return spec.eval.model_copy(update={"source": source})


def _filled_model(model: ModelSpec) -> ModelSpec:
    return model.model_copy(update={"lora": model.lora or LoraSpec()}) if model.kind == "lora" else model


def _filled_critic(spec: RunSpec) -> CriticSpec | None:
    """Return the critic with every default written out; None where no method of any stage reads values."""
    reads = any(reader(presets.resolve(stage.spec.algorithm), "values") for stage in stages.stages(spec))
    return (spec.critic or CriticSpec()) if reads else None
