"""Samplers: probabilities by the worked numbers of topocurate.md, and the seeded draw of a task for each place."""

from collections import Counter

import numpy as np
import pytest

from hone.algorithms.catalogue import SAMPLERS
from hone.algorithms.samplers.manifest import ManifestDraws
from hone.algorithms.topocurate.curation import TaskScore

TASKS = [TaskScore(8, 0.6, error, chains, 0.0, few=False) for error, chains in ((1 / 6, 0.8), (0, 0.25), (0.25, 1))]
SOLVED = TaskScore(8, 1.0, 0.5, 1.0, 0.0, few=False)


def test_topocurate_draws_by_error_branches_and_chains() -> None:
    chances, _, _ = SAMPLERS["topocurate"]([*TASKS, SOLVED], {}, {})
    np.testing.assert_allclose(chances, [0.3332, 0.0795, 0.5873, 0], atol=5e-5)
    chances, _, _ = SAMPLERS["topocurate"](TASKS[1:], {"heterogeneity": 0.0, "temperature": 0.25}, {})
    assert chances[1] / chances[0] == pytest.approx(np.e)


def test_pass_rate_draws_what_is_half_solved() -> None:
    rates = [TaskScore(8, rate, 0, 0, 0.0, few=False) for rate in (0.5, 0.25, 0.0, 1.0)]
    chances, _, _ = SAMPLERS["pass_rate"](rates, {"temperature": 0.25}, {})
    assert chances.tolist() == pytest.approx([np.e / (np.e + 1), 1 / (np.e + 1), 0, 0])
    assert SAMPLERS["pass_rate"]([SOLVED], {}, {})[0].tolist() == [0]


def test_a_place_has_its_task_whatever_was_asked_before() -> None:
    chances = np.array([0.5, 0.3, 0.2, 0.0])
    draws = ManifestDraws(7, chances, 0.25, block=2)
    drawn = [draws.task(place) for place in range(4000)]
    assert [ManifestDraws(7, chances, 0.25, block=2).task(place) for place in reversed(range(50))] == drawn[49::-1]
    assert ManifestDraws(8, chances, 0.25, block=2).task(0) is not None
    count = Counter(drawn)
    assert count[None] / 4000 == pytest.approx(0.25, abs=0.03)
    assert count[0] > count[1] > count[2] > 0 == count[3]
    assert all(first is None or first != second for first, second in zip(drawn[::2], drawn[1::2], strict=True))


def test_without_a_task_that_has_a_chance_every_place_is_left_to_the_source() -> None:
    assert ManifestDraws(0, np.zeros(3), 0.0, block=4).task(5) is None
    assert {ManifestDraws(0, np.array([0.0, 1.0]), 0.0, block=4).task(place) for place in range(9)} == {1}
