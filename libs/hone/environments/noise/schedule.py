"""When noise strikes: by chance, by the distance to the noise before, and within a budget.

After AgentNoiseBench, arXiv 2602.11348. The thirds of an episode are Hone's.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from hone.spec.noise import USERS, TaskNoise, Third

_THIRDS = ("early", "middle", "late")


@dataclass(frozen=True)
class Injected:
    """An injection that took place: its step, from 1, and the tool whose result it changed."""

    step: int
    tool: str


@dataclass(frozen=True)
class Schedule:
    """When the result of a step may be changed."""

    seed: int
    prob: float = 0.7  # chance at each step that is due
    start: int = 1  # first step, from 1
    interval: int = 1  # a step is due only more than this many steps after the last injection
    most: int | None = None  # injections of an episode; None: no bound
    most_of_tool: int | None = 2  # the same of one tool
    where: Third = "anywhere"  # third of the expected episode
    expected_steps: int | None = None  # of a clean episode, where a third is asked for

    @classmethod
    def of(cls, noise: TaskNoise) -> Self:
        """Return the schedule of a task's noise."""
        of_tool = None if noise.most_of_tool < 0 or noise.type in USERS else noise.most_of_tool
        return cls(noise.seed, noise.prob, noise.start, noise.interval, noise.budget, of_tool, noise.where,
                   noise.expected_steps)

    def strikes(self, step: int, tool: str, before: Sequence[Injected]) -> bool:
        """Return whether noise strikes the result of a step (from 1), after the injections before it.

        The draw of a step depends on the seed and the step alone, so that samples of a group draw alike.
        """
        return self._due(step, tool, before) and self._draw(step) < self.prob

    def _due(self, step: int, tool: str, before: Sequence[Injected]) -> bool:
        if step < self.start or not self._in_third(step):
            return False
        if self.most is not None and len(before) >= self.most:
            return False
        of_tool = Counter(one.tool for one in before)[tool]
        if self.most_of_tool is not None and of_tool >= self.most_of_tool:
            return False
        return not before or step - before[-1].step > self.interval

    def _in_third(self, step: int) -> bool:
        if self.where == "anywhere" or not self.expected_steps:
            return True
        third = min(2, (step - 1) * 3 // self.expected_steps)
        return _THIRDS[third] == self.where

    def _draw(self, step: int) -> float:
        return random.Random(f"{self.seed}/strikes/{step}").random()
