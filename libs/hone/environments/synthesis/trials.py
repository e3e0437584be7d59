"""Whether a task tells policies apart: one with all tools from one with half of them hidden.

ScaleEnv (arXiv 2602.06820) does not check that; the numbers are ours. A task is admitted if the shares of episodes that
succeed differ by 0.1 at least, over 8 episodes each.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.environments.packages.package import Package, PackageTask

LEAST_DIFFERENCE = 0.1


@dataclass(frozen=True)
class Trial:
    """Shares of a task's episodes that succeeded, from 0 to 1."""

    strong: float  # with all tools
    weak: float  # with half of them

    @property
    def tells(self) -> bool:
        return self.strong - self.weak >= LEAST_DIFFERENCE - 1e-9


def hidden(package: Package, task: PackageTask, seed: str) -> frozenset[str]:
    """Return the tools that a weakened policy does not see: half of those that are offered, drawn by the seed."""
    offered = task.tools or [tool.name for tool in package.manifest.tools]
    return frozenset(random.Random(seed).sample(sorted(offered), (len(offered) + 1) // 2))


def admitted(package: Package, trials: Mapping[str, Trial]) -> Package:
    """Return a package with those of its tasks that tell policies apart. `trials`: by a task's id."""
    return Package(package.manifest, package.source, [task for task in package.tasks if trials[task.id].tells],
                   package.tests)


def trial_report(trials: Mapping[str, Trial]) -> dict[str, Any]:
    """Return mean shares, and the shares of each task, as JSON."""
    count = max(1, len(trials))
    return {"tried": len(trials), "admitted": sum(one.tells for one in trials.values()),
            "strong": sum(one.strong for one in trials.values()) / count,
            "weak": sum(one.weak for one in trials.values()) / count,
            "tasks": {name: [one.strong, one.weak] for name, one in trials.items()}}
