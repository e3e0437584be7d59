"""Shares of a mixture, its draws, and the shares of groups with a signal."""

import numpy as np
import pytest

from hone.algorithms.inputs import Groups
from hone.algorithms.mixtures import Draws, effective_shares, shares


def test_shares_are_the_worked_numbers_of_the_spec() -> None:
    sizes = [3930, 374, 810]
    assert shares(sizes, 1) == pytest.approx([0.7685, 0.0731, 0.1584], abs=5e-5)
    assert shares(sizes, 2) == pytest.approx([0.5674, 0.1750, 0.2576], abs=5e-5)
    assert shares([1e300, 1e300], 1e-3) == pytest.approx([0.5, 0.5])


def test_a_place_has_the_same_source_however_it_is_asked() -> None:
    whole = Draws(7, [2, 1, 1]).sources(0, 10_000)
    again = Draws(7, [0.5, 0.25, 0.25])
    assert again.sources(9_000, 500).tolist() == whole[9_000:9_500].tolist()
    assert again.sources(4_090, 12).tolist() == whole[4_090:4_102].tolist()
    for place in (0, 17, 4_096, 9_999):
        assert again.before(place).tolist() == np.bincount(whole[:place], minlength=3).tolist()
    assert np.bincount(whole) / len(whole) == pytest.approx([0.5, 0.25, 0.25], abs=0.02)
    assert Draws(8, [2, 1, 1]).sources(0, 64).tolist() != whole[:64].tolist()
    assert again.sources(5, 0).tolist() == []


def test_one_source_has_every_place() -> None:
    alone = Draws(3, [0.1])
    assert (alone.sources(5, 3).tolist(), alone.before(5).tolist()) == ([0, 0, 0], [5])


def test_effective_shares_count_groups_whose_rewards_differ() -> None:
    groups: dict[str, Groups] = {
        "a": [[0, 1], [1, 1], [None, 1]], "b": [[0.5, 0.5 + 1e-9], [0.0, 0.2], [0.1, 0.9]], "c": [[None], []]}
    assert effective_shares(groups) == {"a": 1 / 3, "b": 2 / 3, "c": 0.0}
    assert effective_shares({"a": [[1, 1]], "b": []}) == {"a": 0.0, "b": 0.0}
