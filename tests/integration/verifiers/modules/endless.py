"""A taskset of `verifiers` 0.4 without an end."""

from collections.abc import Iterable
from itertools import count

import verifiers.v1 as vf

__all__ = ["EndlessTaskset"]


class EndlessTaskset(vf.Taskset[vf.Task[vf.TaskData], vf.TasksetConfig]):
    """All numbers."""

    INFINITE = True

    def load(self) -> Iterable[vf.Task[vf.TaskData]]:
        for number in count():
            yield vf.Task(vf.TaskData(prompt=str(number)), self.config.task)
