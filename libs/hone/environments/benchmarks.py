"""Frozen benchmarks: tasks of an environment that never change, so that checkpoints are compared by equal tasks.

A task is known by its content hash, whatever dataset or run it comes from. An environment with a benchmark gives the
components `first_pass`, `collateral`, `tool_calls`, `fault.KIND` and `failure.CLASS` with its score from 0 to 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hone.environments.contract import Row
from hone.environments.desk import benchmark as desk
from hone.environments.tasks import maker


@dataclass(frozen=True)
class BenchmarkItem:
    """A task: its row of a dataset for the environment, its family, and what makes it hard."""

    row: Row
    family: str
    difficulties: tuple[str, ...]


@dataclass(frozen=True)
class Benchmark:
    """Tasks under a name. `version` is a hash of all that decides a score; other versions are other benchmarks."""

    name: str
    environment: str
    summary: str
    version: str
    items: Callable[[], Sequence[BenchmarkItem]]

    @property
    def dataset(self) -> str:
        """Name of the dataset that holds the rows."""
        return f"benchmark-{self.name}-{self.version[:12]}"

    @cached_property
    def by_hash(self) -> Mapping[str, BenchmarkItem]:
        """The tasks by content hash, in order."""
        made = maker(self.environment, {})
        return {made.task(0, one.row).content_hash: one for one in self.items()}


def _desk() -> Sequence[BenchmarkItem]:
    return [BenchmarkItem(row, task.family, task.difficulties)
            for row, task in zip(desk.rows(), desk.tasks(), strict=True)]


BENCHMARKS: Mapping[str, Benchmark] = {one.name: one for one in (
    Benchmark("desk", "desk", "42 tasks at a desk of files, mail, calendar, contacts and notes, graded by the state "
              "that is left.", desk.HASH, _desk),)}
"""Name -> benchmark."""
