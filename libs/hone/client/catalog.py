"""What a spec may name: environments with their parameters, presets with their slots, their methods, graders."""

import inspect
import sys

from hone.algorithms import presets
from hone.algorithms.slots import METHODS
from hone.client.resources import Algorithm, Environment, Grader, SlotMethod
from hone.environments import ENVIRONMENTS
from hone.graders import GRADERS
from hone.spec.run import AlgorithmSpec


def environments() -> list[Environment]:
    """Return every environment that makes its own tasks; datasets are named by `task.dataset` instead."""
    return [Environment(name=name, summary=environment.summary, params_schema=environment.params.model_json_schema(),
                        harness=environment.harness, asked_roles=sorted(environment.asked_roles))
            for name, environment in ENVIRONMENTS.items() if name != "dataset"]


def algorithms() -> list[Algorithm]:
    """Return every preset with its slots, what a spec has to give for it, and what it needs that no run has yet."""
    return [Algorithm(name=name, slots=presets.filled(AlgorithmSpec(preset=name)), unmet=presets.unmet(name),
                      asked=presets.asked(name))
            for name in presets.PRESETS]


def methods() -> list[SlotMethod]:
    """Return every method of every slot with what its code says of it: source, formula, parameters."""
    return [SlotMethod(slot=slot, name=name, source=_summary(method.function.__module__),
                       formula=inspect.getdoc(method.function) or "", params_schema=method.params.model_json_schema())
            for slot, known in METHODS.items() for name, method in known.items()]


def graders() -> list[Grader]:
    """Return every kind of grader; its summary is the first line of its module."""
    return [Grader(name=name, summary=_summary(grader.params.__module__), low=grader.low, high=grader.high,
                   pooled=grader.pooled, params_schema=grader.params.model_json_schema())
            for name, grader in GRADERS.items()]


def _summary(module: str) -> str:
    return (inspect.getdoc(sys.modules[module]) or "").partition("\n")[0]
