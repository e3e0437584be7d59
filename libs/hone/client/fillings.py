"""What fills each slot of a run, read from its resolved spec, with the source that `hone algorithms show` tells."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hone.client import catalog

_QUESTION = re.compile(r"S\d+: ")
"""How the first line of a slot's own module begins: it says what the slot is for, not where a method is from."""


@dataclass(frozen=True)
class Filling:
    """A method in a slot of a run; no source: the method is none, or one that this release does not know."""

    name: str
    params: Mapping[str, Any]
    source: str = ""

    @property
    def reconstruction(self) -> bool:
        """Whether the source leaves parts of the method open, so that they are ours."""
        return "reconstruction" in self.source


def fillings(spec: Mapping[str, Any]) -> dict[str, list[Filling]]:
    """Return what fills each slot of a resolved run spec, by slot; a slot that it does not name is left out."""
    algorithm, optimizer = spec.get("algorithm") or {}, spec.get("optimizer") or {}
    found = {slot: chosen if isinstance(chosen, list) else [chosen] for slot, chosen in algorithm.items()
             if isinstance(chosen, list | dict)}
    if "schedule" in optimizer:
        found["schedule"] = [{"name": optimizer["schedule"], "params": optimizer.get("schedule_params", {})}]
    if sizes := (spec.get("batch") or {}).get("schedule"):
        found["batch_size"] = [sizes]
    return {slot: [_filling(slot, one) for one in chosen] for slot, chosen in found.items()}


def _filling(slot: str, chosen: Mapping[str, Any]) -> Filling:
    name = chosen["name"]
    return Filling(name, chosen.get("params", {}), _sources().get((slot, name), ""))


@cache
def _sources() -> dict[tuple[str, str], str]:
    """By slot and name, of methods that have a module of their own."""
    return {(method.slot, method.name): method.source for method in catalog.methods()
            if not _QUESTION.match(method.source)}
