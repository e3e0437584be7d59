"""Where worlds of others are. A spec names a world; who may set it decides what stands behind the name."""

from collections.abc import Callable
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

import yaml
from pydantic import Field, StringConstraints, ValidationError, model_validator

from hone.environments.contract import WrongParams
from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem, found, from_validation

Kind = Literal["openenv", "mcp", "verifiers"]
NAME = r"^[a-z0-9][a-z0-9_.-]{0,99}$"
WorldName = Annotated[str, StringConstraints(pattern=NAME)]
LONGEST_S = 50.0
"""Most seconds of one call of a world: whoever steps an episode waits for 60."""
_NEEDS = {"openenv": "url", "verifiers": "python and package", "mcp": "url or command"}


class Place(Strict):
    """A world: an address, or a program of the operator's. Programs are never a tenant's to name."""

    protocol: Kind = Field(description="Protocol: openenv, mcp or verifiers.")
    url: str = Field("", description="Address of an OpenEnv or MCP server.")
    authorization: str = Field("", repr=False, description="Value of the header Authorization; empty: none.")
    command: list[str] = Field([], description="Program of an MCP server that speaks by its standard input and output.")
    python: str = Field("", description="Python interpreter that has the package verifiers.")
    package: str = Field("", description="Name of the environment of verifiers, or of its taskset from 0.4 on.")
    arguments: dict[str, Any] = Field({}, description="Arguments of load_environment, or from 0.4 on the env block.")
    variables: dict[str, str] = Field({}, description="Environment variables of the program, in addition to PATH and "
                                      "HOME.")
    timeout_s: float = Field(LONGEST_S, gt=0, le=LONGEST_S, description="Seconds that a call may take.")
    memory_mb: int = Field(4096, ge=64, description="Most memory of a program of verifiers, MiB.")

    @model_validator(mode="after")
    def _can_be_reached(self) -> Self:
        ways = {"openenv": bool(self.url), "verifiers": bool(self.python and self.package),
                "mcp": bool(self.url) != bool(self.command)}
        if not ways[self.protocol] or (self.url and not self.url.startswith(("http://", "https://"))):
            raise ValueError(f"expected {_NEEDS[self.protocol]}, and a url with http:// or https://")
        return self


def may_pass(status: int) -> bool:
    """Return whether a status of HTTP may be another one soon: a server that starts, ends, or has too much to do."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS


class Atlas(Protocol):
    """Finds worlds. The process that plays episodes has one."""

    def place(self, name: str, protocol: Kind) -> Place:
        """Return a world of the tenant whose work it is, or of the operator. Raises WrongParams and EpisodeLost."""


def read(path: Path | None) -> dict[str, Place]:
    """Return the worlds of an operator's file by name: YAML, a Place each. Raises Invalid with the field."""
    try:
        given = yaml.safe_load(path.read_text()) if path else {}
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise Invalid([Problem("HONE_WORLDS", found(str(path)), f"a YAML file that can be read ({error})")]) from error
    if not isinstance(given, dict):
        raise Invalid([Problem("HONE_WORLDS", found(given), "an object with a world by each name")])
    return {str(name): _read(f"HONE_WORLDS.{name}", one) for name, one in given.items()}


def _read(at: str, given: object) -> Place:
    try:
        return Place.model_validate(given)
    except ValidationError as error:
        raise Invalid(from_validation(error, Place, at)) from error


class Lookup:
    """Finds worlds once the process has an atlas. All environments of others share one."""

    def __init__(self) -> None:
        self.atlas: Atlas | None = None  # None: this process plays no episodes

    def place(self, name: str, protocol: Kind) -> Place:
        """Return a world. Raises WrongParams and EpisodeLost."""
        if self.atlas is None:
            raise WrongParams("environment", protocol, "the simulation service, the only process that plays foreign "
                              "worlds")
        return self.atlas.place(name, protocol)

    def finder(self, name: str, protocol: Kind) -> Callable[[], Place]:
        """Return a function that finds a world once: forks of an episode are in the world where it began, whoever asks.
        """
        return cache(partial(self.place, name, protocol))


LOOKUP = Lookup()
