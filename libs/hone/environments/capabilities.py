"""Optional parts of an environment, each a small protocol: an environment has one by its attributes alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from hone.environments.contract import Environment
from hone.environments.single_turn import Asks


@runtime_checkable
class PlaysElsewhere(Protocol):
    """Its worlds are in other processes. Its calls wait for them, beside calls of other episodes."""

    @property
    def elsewhere(self) -> bool:
        """True."""


@runtime_checkable
class NamesGrader(Protocol):
    """Another grader than `environment` scores its episodes."""

    @property
    def grader(self) -> str:
        """Name of that grader."""


@runtime_checkable
class HoldsGraders(Protocol):
    """Some of its parameters are the JSON of a grader, or null."""

    @property
    def param_graders(self) -> tuple[str, ...]:
        """Names of these parameters."""


@runtime_checkable
class NeedsRows(Protocol):
    """It makes no tasks of its own: a dataset has its tasks."""

    @property
    def needs_rows(self) -> bool:
        """True."""


@runtime_checkable
class ShowsExample(Protocol):
    """It has no useful tasks without parameters."""

    @property
    def example_params(self) -> Mapping[str, Any]:
        """Parameters that a first run may have."""


@dataclass(frozen=True)
class AddedTasks:
    """Tasks that tenants added: the parameter that names them, and the format of the archive."""

    param: str
    format: str


@runtime_checkable
class PlaysAdded(Protocol):
    """It plays tasks that tenants added. The simulation service gives it the shelf that has them."""

    shelf: Any

    @property
    def added(self) -> AddedTasks:
        """How a spec names the tasks."""


CAPABILITIES: Mapping[str, type] = {
    "asks": Asks, "elsewhere": PlaysElsewhere, "names_grader": NamesGrader, "holds_graders": HoldsGraders,
    "needs_rows": NeedsRows, "shows_example": ShowsExample, "plays_added": PlaysAdded}
"""Every capability by its name in the catalogue's record."""


def of(environment: Environment) -> list[str]:
    """Return the names of an environment's capabilities."""
    return [name for name, kind in CAPABILITIES.items() if isinstance(environment, kind)]
