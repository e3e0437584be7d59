"""Mixtures of sources of tasks: shares, seeded draws, and how many of the groups with a signal each source has.

From RFT generalization, arXiv 2603.12011, axis 3; the draw and the log of effective shares are Hone's.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from hone.algorithms.inputs import Floats, Groups, Ints

_SIGNAL = 1e-8
"""A group has a signal if its largest and smallest reward differ by more than this."""
_BLOCK = 4096
_STREAM = 2603_12011  # keeps the draws apart from other uses of a run's seed


def shares(sizes: Sequence[float], temperature: float = 1.0) -> Floats:
    """Return P(e) = n_e^(1/T) / sum of these, [E]: T = 1 is proportional to sizes, a larger T is flatter."""
    logs = np.log(np.asarray(sizes, np.float64)) / temperature
    powers = np.exp(logs - logs.max())
    found: Floats = powers / powers.sum()
    return found


class Draws:
    """The source of each place in a run's tasks, at random by weight. It depends on seed, weights and place alone."""

    def __init__(self, seed: int, weights: Sequence[float]) -> None:
        self._seed, self._ends = seed, np.cumsum(shares(weights))[:-1]
        self._blocks = list[Ints]()
        self._before = [np.zeros(len(weights), np.int64)]  # of each source, places before a block

    def sources(self, first: int, count: int) -> Ints:
        """Return the numbers of the sources at places `first … first+count-1`."""
        begin, end = first // _BLOCK, (first + max(count, 1) - 1) // _BLOCK
        drawn = np.concatenate([self._block(number) for number in range(begin, end + 1)])
        return drawn[first - begin * _BLOCK:][:count]

    def before(self, place: int) -> Ints:
        """Return how many of the places before this one each source has."""
        number, rest = divmod(place, _BLOCK)
        drawn = self._block(number)[:rest]
        found: Ints = self._before[number] + np.bincount(drawn, minlength=len(self._before[0]))
        return found

    def _block(self, number: int) -> Ints:
        while len(self._blocks) <= number:
            random = np.random.default_rng([self._seed, _STREAM, len(self._blocks)]).random(_BLOCK)
            drawn = np.searchsorted(self._ends, random, side="right")
            self._blocks.append(drawn)
            self._before.append(self._before[-1] + np.bincount(drawn, minlength=len(self._before[0])))
        return self._blocks[number]


def effective_shares(groups: Mapping[str, Groups]) -> dict[str, float]:
    """Return each source's share of all groups whose largest and smallest reward differ; 0 for all if there is none.

    `groups` holds the rewards of each source's groups. None is a sample without reward.
    """
    counts = {source: sum(map(_has_signal, own)) for source, own in groups.items()}
    total = sum(counts.values())
    return {source: count / total if total else 0.0 for source, count in counts.items()}


def _has_signal(rewards: Sequence[float | None]) -> bool:
    valid = [reward for reward in rewards if reward is not None]
    return bool(valid) and max(valid) - min(valid) > _SIGNAL
