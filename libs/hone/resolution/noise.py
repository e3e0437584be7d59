"""Noise in the results of tools: only where tasks have such results, and can still be done."""

from typing import Any

from pydantic import ValidationError

from hone.environments import ENVIRONMENTS
from hone.environments.contract import WrongParams
from hone.environments.noise.noisy import noisy
from hone.environments.single_turn import Asks
from hone.spec.noise import TaskNoise
from hone.spec.problems import Problem, found
from hone.spec.run import RunSpec


def problems(spec: RunSpec, slots: Any) -> list[Problem]:  # noqa: ARG001 — one signature for every rule
    """Return why a checked source's tasks cannot have its noise. Each type is tried on the first task that is made."""
    noise, environment = spec.task.noise, ENVIRONMENTS.get(spec.task.kind)
    if noise is None or not noise.intensity or environment is None:
        return []
    if isinstance(environment, Asks):
        return [Problem("task.noise", ", ".join(noise.types), f"none: {spec.task.kind} asks single questions, whose "
                        "answers have no results of tools")]
    if environment.foreign or spec.task.dataset is not None:
        return []  # its tasks are tried when they are played
    try:
        params = environment.params.model_validate(spec.task.params)
    except ValidationError:  # a problem of the source, reported there
        return []
    terms = noise.model_dump(exclude={"types", "share"})
    for kind in dict.fromkeys(noise.types):
        try:
            noisy(environment.episode(params, 0, None), TaskNoise(type=kind, **terms)).reset()
        except WrongParams as wrong:
            return [Problem(f"task.{wrong.field}", found(wrong.found), wrong.expected)]
    return []
