"""Everything that a spec may name, as `KIND.NAME`: environments, graders, harnesses, methods and presets."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hone.algorithms.slots import BUILDERS
from hone.client import catalog
from hone.harnesses.catalogue import HARNESSES
from hone.spec.problems import Invalid, Problem, one_of


@dataclass(frozen=True)
class Member:
    """A member of a catalogue. `slot` is a method's; `notes` are further lines about it."""

    kind: str
    name: str
    summary: str
    params_schema: Mapping[str, Any] = field(default_factory=dict)
    slot: str = ""
    notes: str = ""

    @property
    def required(self) -> list[str]:
        """Names of the parameters without a default, except for the type of a grader, which is its name."""
        return [name for name in self.params_schema.get("required", ()) if (self.kind, name) != ("grader", "type")]


def find(name: str) -> list[Member]:
    """Return the members of a name such as grader.math; methods of several slots may share a name. Raises Invalid."""
    kind, _, wanted = name.partition(".")
    if kind not in KINDS:
        raise Invalid([Problem("name", name, f"{one_of(kind, KINDS)}, then a dot and a name, such as grader.math")])
    known = list(KINDS[kind]())
    if found := [member for member in known if member.name == wanted]:
        return found
    raise Invalid([Problem("name", name, f"{kind}. followed by {one_of(wanted, {member.name for member in known})}")])


def environments() -> Iterator[Member]:
    """Yield the environments that make their own tasks."""
    for found in catalog.environments():
        roles = f"May request answers of the roles: {', '.join(found.asked_roles)}." if found.asked_roles else ""
        notes = "\n".join(filter(None, [f"Harness: {found.harness}, unless the spec names another.", roles]))
        yield Member("environment", found.name, found.summary, found.params_schema, notes=notes)


def graders() -> Iterator[Member]:
    """Yield the kinds of graders."""
    for found in catalog.graders():
        notes = f"Scores from {found.low:g} to {found.high:g}."
        yield Member("grader", found.name, found.summary, found.params_schema, notes=notes)


def harnesses() -> Iterator[Member]:
    """Yield the harnesses."""
    for name in HARNESSES:
        facts = HARNESSES.facts(name)
        yield Member("harness", name, facts.summary, facts.params_schema)


def methods() -> Iterator[Member]:
    """Yield the methods slot by slot, builders first."""
    for name, builder in BUILDERS.items():
        params = builder.params.model_json_schema()
        yield Member("method", name, "A builder: the source of a step's trajectories.", params, "builder")
    for found in catalog.methods():
        yield Member("method", found.name, found.source, found.params_schema, found.slot, found.formula)


def presets() -> Iterator[Member]:
    """Yield the presets. Their parameters are those of the methods in their slots."""
    for found in catalog.algorithms():
        slots = "\n".join(f"{slot}: {_method(filling)}" for slot, filling in found.slots.items() if slot != "preset")
        needs = f"A spec adds {', '.join(found.asked)}." if found.asked else ""
        lacks = f"It runs without {found.lacks}." if found.lacks else ""
        yield Member("preset", found.name, found.unmet or "An algorithm: a method for each slot of a step.",
                     notes="\n".join(filter(None, [needs, lacks, slots])))


def _method(filling: Any) -> str:
    if isinstance(filling, list):
        return " + ".join(map(_method, filling)) or "none"
    if not isinstance(filling, Mapping):
        return str(filling)
    given = ", ".join(f"{name} {value}" for name, value in filling.get("params", {}).items())
    return f"{filling['name']} ({given})" if given else str(filling["name"])


KINDS: Mapping[str, Callable[[], Iterator[Member]]] = {
    "environment": environments, "grader": graders, "harness": harnesses, "method": methods, "preset": presets}
