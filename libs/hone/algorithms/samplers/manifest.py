"""Shared parts of samplers by a manifest: parameters, and the seeded draw of a task for each place. numpy, float64."""

from functools import lru_cache

import numpy as np
from pydantic import Field

from hone.algorithms.inputs import Floats, Ints
from hone.algorithms.method import Params

_STREAM = 2603_01714  # keeps the draws apart from other uses of a run's seed
_KEPT = 4


class ManifestParams(Params):
    """Where the manifest comes from, and how sharply tasks are drawn by it."""

    run: str | None = Field(
        None, description="Id of a run whose saved curation (`hone curate RUN --save`) is the manifest; null: the run "
        "curates its own rollouts as it goes.")
    every: int = Field(100, ge=1, description="Without run: steps from one curation to the next.")
    success: float = Field(
        1.0, gt=0, le=1, description="Without run: share of the grader's range from which a sample succeeds.")
    explore: float = Field(
        0.2, ge=0, le=1, description="Share of the groups whose task is drawn as by uniform, so that tasks without "
        "rollouts get some.")
    temperature: float = Field(0.5, gt=0, description="T in the probability of a task.")


class ManifestDraws:
    """The task of each place, by seed, probabilities and place alone.

    Places are drawn in blocks; inside a block no task comes twice.
    """

    def __init__(self, seed: int, probabilities: Floats, explore: float, block: int) -> None:
        """`block` is the number of groups of a step; where fewer tasks have a chance, it is their number."""
        self._seed, self._probabilities, self._explore = seed, probabilities, explore
        self._size = min(block, int(np.count_nonzero(probabilities)))
        self._drawn = lru_cache(_KEPT)(self._block)

    def task(self, place: int) -> int | None:
        """Return the number of the task at a place; None where the place explores, or no task has a chance."""
        if not self._size or np.random.default_rng([self._seed, _STREAM, 0, place]).random() < self._explore:
            return None
        block, rest = divmod(place, self._size)
        return int(self._drawn(block)[rest])

    def _block(self, number: int) -> Ints:
        drawn: Ints = np.random.default_rng([self._seed, _STREAM, 1, number]).choice(
            len(self._probabilities), self._size, replace=False, p=self._probabilities)
        return drawn
