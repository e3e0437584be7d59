"""The frozen benchmark of the desk: six tasks of each family, named by seed and held by a hash."""

import math

from hone.environments.contract import Row
from hone.environments.desk.episode import opening
from hone.environments.desk.generation import FAMILIES, task
from hone.environments.desk.grading import FORMULAS
from hone.environments.desk.task import DeskTask
from hone.environments.hashing import digest

SEEDS = range(900_001, 900_007)
"""Seeds of each family's tasks."""
HASH = "835b0f295acfc1c340d038f79e9c1deaddeaa0079ee7f72965124fc464c8c0a0"
"""Of prompts, states, verification programs and formulas. Scores under another hash are of another benchmark."""


def tasks() -> list[DeskTask]:
    """Return the tasks, family by family."""
    return [task(family, seed) for family in FAMILIES for seed in SEEDS]


def rows() -> list[Row]:
    """Return the benchmark as rows of a dataset for the environment `desk`."""
    return [{"prompt": opening(task(family, seed))[0]["content"], "family": family, "seed": seed}
            for family in FAMILIES for seed in SEEDS]


def fingerprint() -> str:
    """Return the hash of what the benchmark asks and how it verifies."""
    return digest([FORMULAS, [[opening(one), one.state, one.verifier_hash] for one in tasks()]])


def standard_error(passed: int, count: int) -> float:
    """Return the standard error of a pass rate, in points: rankings closer than about two of them say nothing."""
    rate = passed / count
    return 100 * math.sqrt(rate * (1 - rate) / count)
