"""Environments by name: Hone's own, and members of installed packages."""

import inspect
from dataclasses import dataclass
from typing import Any

from hone.catalogue.catalogue import Catalogue, Group
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


def _described(environment: Environment) -> EnvironmentFacts:
    return EnvironmentFacts(
        environment.summary, environment.params.model_json_schema(), environment.harness,
        None if environment.columns is None else sorted(environment.columns), sorted(environment.asked_roles),
        environment.foreign)


def _lacks(made: Any) -> str:
    """Return the first part that an object lacks to be an environment; empty if none."""
    params = getattr(made, "params", None)
    if not (inspect.isclass(params) and issubclass(params, EnvironmentParams)):
        return "`params`, a class derived from EnvironmentParams"
    names = ("summary", "harness", "columns", "asked_roles", "foreign", "rules", "messages", "content", "episode")
    return next((f"`{name}`" for name in names if not hasattr(made, name)), "")


ENVIRONMENTS: Catalogue[Environment, EnvironmentFacts] = Catalogue(
    Group("hone.environments", "environment", _lacks, _described, EnvironmentFacts))
