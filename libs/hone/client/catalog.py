"""The names that a spec may use (environments, presets, methods, graders), and the methods in the slots of a run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hone.algorithms import presets
from hone.algorithms.catalogue import METHODS
from hone.client.resources import Algorithm, Environment, Grader, SlotMethod, StartingSpec
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders.catalogue import GRADERS
from hone.resolution import starting_specs
from hone.spec.run import AlgorithmSpec

_SLOT = re.compile(r"\w+ \(S\d+\): ")
"""Beginning of the docstring of a slot's own module. It describes the slot, not the source of a method."""


@dataclass(frozen=True)
class SlotFilling:
    """A method in a slot of a run. `source` is empty for the method none and for an unknown one."""

    name: str
    params: Mapping[str, Any]
    source: str = ""

    @property
    def reconstruction(self) -> bool:
        """Whether the source leaves parts of the method open that Hone had to fill."""
        return "reconstruction" in self.source


def environments() -> list[Environment]:
    """Return every environment that makes its own tasks. A spec names a dataset by `task.dataset` instead."""
    return [Environment(name=name, summary=facts.summary, params_schema=facts.params_schema, harness=facts.harness,
                        asked_roles=facts.asked_roles)
            for name in ENVIRONMENTS if name != "dataset" for facts in [ENVIRONMENTS.facts(name)]]


def algorithms() -> list[Algorithm]:
    """Return every preset with its slots, the fields that a spec must add, and the reason why it cannot be run yet."""
    return [Algorithm(name=name, slots=presets.filled(AlgorithmSpec(preset=name)), unmet=presets.unmet(name),
                      lacks=presets.LACKS.get(name), asked=presets.asked(name))
            for name in presets.PRESETS]


def starting_spec(preset: str, base: str = "", dataset: str = "", environment: str = "") -> StartingSpec:
    """Return a complete spec of a preset to begin with. Raises Invalid as hone.resolution.starting_specs.make does."""
    spec = starting_specs.make(preset, base, dataset, environment)
    return StartingSpec(preset=preset, spec=spec, text=starting_specs.text(spec))


def methods() -> list[SlotMethod]:
    """Return every method of every slot with source and formula, from its docstrings, and its parameters."""
    return [SlotMethod(slot=slot, name=name, source=facts.source, formula=facts.formula,
                       params_schema=facts.params_schema)
            for slot, known in METHODS.items() for name in known for facts in [known.facts(name)]]


def graders() -> list[Grader]:
    """Return every kind of grader; its summary is the first line of its module."""
    return [Grader(name=name, summary=facts.summary, low=facts.low, high=facts.high, pooled=facts.pooled,
                   params_schema=facts.params_schema)
            for name in GRADERS for facts in [GRADERS.facts(name)]]


def slot_fillings(spec: Mapping[str, Any]) -> dict[str, list[SlotFilling]]:
    """Return the methods in each slot of a resolved run spec; a slot that the spec does not name is left out."""
    algorithm, optimizer = spec.get("algorithm") or {}, spec.get("optimizer") or {}
    found = {slot: chosen if isinstance(chosen, list) else [chosen] for slot, chosen in algorithm.items()
             if isinstance(chosen, list | dict)}
    if "schedule" in optimizer:
        found["schedule"] = [{"name": optimizer["schedule"], "params": optimizer.get("schedule_params", {})}]
    if sizes := (spec.get("batch") or {}).get("schedule"):
        found["batch_size"] = [sizes]
    return {slot: [_filling(slot, one) for one in chosen] for slot, chosen in found.items()}


def _filling(slot: str, chosen: Mapping[str, Any]) -> SlotFilling:
    name = chosen["name"]
    return SlotFilling(name, chosen.get("params", {}), _sources().get((slot, name), ""))


@cache
def _sources() -> dict[tuple[str, str], str]:
    """Return the source by slot and name, of the methods that have a module of their own."""
    return {(method.slot, method.name): method.source for method in methods()
            if not _SLOT.match(method.source)}
