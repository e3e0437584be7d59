"""The range of the scores that a run's outcomes have."""

from collections.abc import Mapping
from typing import Any

from hone.graders import specs
from hone.graders.contract import Bounds
from hone.resolution import sources
from hone.spec.run import RunSpec


def bounds(spec: RunSpec) -> Bounds:
    """Return the smallest and the largest score of a run's grader, or of its task's own; of a mixture's graders.

    An environment that scores itself gives 0 to 1. Raises Invalid for a grader that cannot be resolved.
    """
    lows, highs = zip(*(_bounds(source.spec) for source in sources.of(spec)), strict=True)
    return min(lows), max(highs)


def _bounds(spec: RunSpec) -> Bounds:
    grader = spec.grader if spec.grader is not None else spec.task.params.get("grader")
    return of_grader(grader) if isinstance(grader, Mapping) else (0.0, 1.0)


def of_grader(grader: Mapping[str, Any]) -> Bounds:
    """Return the smallest and the largest score of a grader's JSON. Raises Invalid."""
    return specs.checked(grader).bounds
