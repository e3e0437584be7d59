"""Environments by name: Hone's own, and members of installed packages."""

import inspect
from dataclasses import asdict, dataclass
from typing import Any

from hone.catalogue.catalogue import Catalogue, Group
from hone.environments import capabilities
from hone.environments.capabilities import CAPABILITIES, PlaysAdded, ShowsExample
from hone.environments.contract import Environment, EnvironmentParams


@dataclass(frozen=True)
class EnvironmentFacts:
    """The facts of an environment that lists and rules read without importing it."""

    summary: str
    params_schema: dict[str, Any]
    harness: str
    columns: list[str] | None
    asked_roles: list[str]
    foreign: bool
    capabilities: list[str]
    example: dict[str, Any]  # parameters that a first run may have
    added: dict[str, str] | None  # `param` and `format` of tasks that tenants added; null: it plays none


def _described(environment: Environment) -> EnvironmentFacts:
    return EnvironmentFacts(
        environment.summary, environment.params.model_json_schema(), environment.harness,
        None if environment.columns is None else sorted(environment.columns), sorted(environment.asked_roles),
        environment.foreign, capabilities.of(environment),
        dict(environment.example_params) if isinstance(environment, ShowsExample) else {},
        asdict(environment.added) if isinstance(environment, PlaysAdded) else None)


def _lacks(made: Any) -> str:
    """Return the first part that an object lacks to be an environment; empty if none."""
    params = getattr(made, "params", None)
    if not (inspect.isclass(params) and issubclass(params, EnvironmentParams)):
        return "`params`, a class derived from EnvironmentParams"
    names = ("summary", "harness", "columns", "asked_roles", "foreign", "rules", "messages", "content", "episode")
    return next((f"`{name}`" for name in names if not hasattr(made, name)), "")


ENVIRONMENTS: Catalogue[Environment, EnvironmentFacts] = Catalogue(
    Group("hone.environments", "environment", _lacks, _described, EnvironmentFacts))


def able(capability: str) -> list[str]:
    """Return the names of the environments with a capability."""
    return [name for name in ENVIRONMENTS if has(name, capability)]


def has(name: str, capability: str) -> bool:
    """Return whether an environment has a capability; an unknown environment has none."""
    if (member := ENVIRONMENTS.here(name)) is not None:
        return isinstance(member, CAPABILITIES[capability])
    return name in ENVIRONMENTS and capability in ENVIRONMENTS.facts(name).capabilities
