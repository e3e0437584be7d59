"""The environment `package`: tasks of an environment package, with its tools in the sandbox."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from pydantic import Field

from hone.environments.capabilities import AddedTasks
from hone.environments.contract import EnvironmentParams, Message, Row, WrongParams
from hone.environments.packages.calling import Runner
from hone.environments.packages.episode import PackageEpisode, opening
from hone.environments.packages.package import Package, PackageTask


class Shelf(Runner, Protocol):
    """Where packages come from, and what runs their tools. The process that plays episodes has one."""

    def package(self, reference: str) -> Package:
        """Return a package by its digest, or by its name. Raises WrongParams."""


class PackageParams(EnvironmentParams):
    """Choice of a package and of its tasks, and the length of an episode."""

    package: str = Field(
        "", max_length=200, description="Name of a package (`hone environments list`), or its digest. A run keeps the "
        "digest that the name meant when it was created.")
    difficulties: list[int] = Field([], description="Difficulties of the tasks that are played; empty: all.")
    turns: int = Field(30, ge=1, le=500, description="Most turns of an episode: tool calls and the final answer.")
    show_policy: bool = Field(True, description="Show the package's policy in a system message.")


class PackagedWorld:
    """Tasks follow from the seed: a stream goes through the package's tasks."""

    summary = "Tasks of an environment package: tools over tables, in the sandbox, scored by the state that is left."
    params = PackageParams
    harness = "tool_loop"
    columns: frozenset[str] | None = None
    asked_roles: frozenset[str] = frozenset()
    foreign = True
    elsewhere = True
    example_params: ClassVar[Mapping[str, Any]] = {"package": "my-package"}
    added = AddedTasks("package", "hone")

    def __init__(self) -> None:
        self.shelf: Shelf | None = None  # None: this process plays no episodes

    def rules(self, params: PackageParams) -> dict[str, float]:
        return {}

    def messages(self, params: PackageParams, seed: int, item: Row | None) -> list[Message]:
        package, task = self._task(params, seed)
        return opening(package, task, params.show_policy)

    def content(self, params: PackageParams, seed: int, item: Row | None) -> dict[str, str]:
        package, task = self._task(params, seed)
        return {"package": package.digest, "task": task.id}

    def episode(self, params: PackageParams, seed: int, item: Row | None) -> PackageEpisode:
        package, task = self._task(params, seed)
        assert self.shelf is not None
        return PackageEpisode(package, task, self.shelf, params.turns, params.show_policy)

    def _task(self, params: PackageParams, seed: int) -> tuple[Package, PackageTask]:
        if self.shelf is None:
            raise WrongParams("environment", "package", "a process that plays packages: the simulation service")
        package = self.shelf.package(params.package)
        tasks = [task for task in package.tasks if not params.difficulties or task.difficulty in params.difficulties]
        if not tasks:
            known = sorted({task.difficulty for task in package.tasks})
            raise WrongParams("params.difficulties", params.difficulties, f"some of {known}, which its tasks have")
        return package, tasks[seed % len(tasks)]

