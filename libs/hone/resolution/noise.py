"""Noise in the results of tools: only where tasks have such results, and can still be done."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from hone.environments.catalogue import ENVIRONMENTS
from hone.environments.contract import WrongParams
from hone.environments.noise.noisy import noisy
from hone.environments.single_turn import Asks
from hone.graders.deviation import JUDGED
from hone.resolution import sources
from hone.spec.noise import USERS, WRITTEN, EvalNoise, NoiseSpec, NoiseTerms, TaskNoise
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec, TaskSource

_WRITTEN = ", ".join(sorted(WRITTEN))


def problems(spec: RunSpec, slots: Any) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """Return why a checked source's tasks cannot have its noise. Each type is tried on the first task that is made."""
    noise = spec.task.noise
    return [] if noise is None else [*_unwritten(noise, "task"), *_unfit(spec.task, noise, "task")]


def of_evaluation(spec: RunSpec) -> list[Problem]:
    """Return why the held-out tasks of a checked spec cannot have the noise of its evaluation."""
    if spec.eval is None or spec.eval.noise is None:
        return []
    if not spec.eval.noise.intensity:
        return [Problem("eval.noise.intensity", "0", "at least 1, because a series without noise equals the sampled "
                        "series")]
    return [*_unwritten(spec.eval.noise, "eval"), *_unjudged(spec.eval.noise), *(
        problem for source in sources.held_out(spec) for problem in _unfit(source.spec.task, spec.eval.noise, "eval"))]


def _unwritten(noise: NoiseSpec, at: str) -> Iterator[Problem]:
    if noise.writer == "model" and WRITTEN.isdisjoint(noise.types):
        yield Problem(f"{at}.noise.writer", "model", f"rules, or a type that a model writes: {_WRITTEN}")


def _unjudged(noise: EvalNoise) -> Iterator[Problem]:
    if noise.judge is not None and JUDGED.isdisjoint(noise.types):
        yield Problem("eval.noise.judge", found(noise.judge), "none, because no type leaves the truth in a result: "
                      f"{', '.join(sorted(JUDGED))}")


def _unfit(task: TaskSource, noise: NoiseSpec, at: str) -> Iterator[Problem]:
    environment = ENVIRONMENTS.get(task.kind)
    if not noise.intensity or environment is None:
        return
    if isinstance(environment, Asks):
        yield Problem(f"{at}.noise", ", ".join(noise.types), f"no noise: {task.kind} asks single questions, without "
                      "results of tools")
        return
    if (spoken := USERS.intersection(noise.types)) and "user" not in environment.asked_roles:
        yield Problem(f"{at}.noise.types", ", ".join(sorted(spoken)), f"types of tools alone: {task.kind} has no user")
        return
    if environment.foreign or task.dataset is not None:
        return  # its tasks are tried when they are played
    try:
        params = environment.params.model_validate(task.params)
    except ValidationError:  # a problem of the source, reported there
        return
    terms = noise.model_dump(include={*NoiseTerms.model_fields})
    for kind in dict.fromkeys(noise.types):
        try:
            seen = noisy(environment.episode(params, 0, None), TaskNoise(type=kind, **terms)).reset()
            if kind not in USERS and "user" in environment.asked_roles and not seen.tools:
                raise WrongParams("noise.types", kind, "types of users alone: these tasks have no tools")
            if noise.start > seen.turns_left:
                raise WrongParams("noise.start", noise.start, f"at most {seen.turns_left}, the turns of an episode")
        except WrongParams as wrong:
            yield Problem(f"{at}.{wrong.field}", found(wrong.found), wrong.expected)
            return
