"""Packages of other authors whose members a spec names."""

from collections.abc import Iterator, Mapping
from typing import Any

from hone.algorithms.catalogue import MEMBERS, METHODS
from hone.algorithms.presets import PRESETS
from hone.catalogue import packages
from hone.catalogue.catalogue import Catalogue, NoMember
from hone.catalogue.entries import OWN
from hone.environments.catalogue import ENVIRONMENTS
from hone.graders.catalogue import GRADERS
from hone.harnesses.catalogue import HARNESSES
from hone.spec.problems import Problem
from hone.spec.run import RunSpec

Named = tuple[Catalogue[Any, Any], str]


def of(spec: RunSpec) -> dict[str, str]:
    """Return the packages of a resolved spec's members with their versions; none for members of Hone's own."""
    found = dict[str, str]()
    for catalogue, name in _named(spec.model_dump(mode="json")):
        try:
            entry = catalogue.package(name)
        except NoMember:  # a member of this process alone
            continue
        if entry.package != OWN:
            found[entry.package] = entry.version
    return dict(sorted(found.items()))


def problems(spec: RunSpec) -> list[Problem]:
    """Return the packages of a spec that this process lacks."""
    return [Problem(f"packages.{name}", version, "an installed package: install it in every process of the stack")
            for name, version in spec.packages.items() if packages.lacking({name: version}, "process")]


def _named(value: Any) -> Iterator[Named]:
    """Yield each environment, harness, grader, method and preset that a resolved spec names, at any depth."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _of_field(key, inner)
            yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)


def _of_field(key: str, value: Any) -> Iterator[Named]:
    match key, value:
        case "environment", str():
            yield ENVIRONMENTS, value
        case "type", str():
            yield GRADERS, value
        case "preset", str():
            yield PRESETS, value
        case "harness", {"name": str(name)}:
            yield HARNESSES, name
        case "schedule", str():
            yield MEMBERS, f"schedule.{value}"
        case slot, {"name": str(name)} if slot in METHODS:
            yield MEMBERS, f"{slot}.{name}"
        case slot, list() if slot in METHODS:
            yield from ((MEMBERS, f"{slot}.{one['name']}") for one in value)
