"""Bands of expected success against numbers that were counted by hand."""

import numpy as np

from hone.algorithms.value.bands import bands


def test_a_chance_at_a_border_is_in_the_upper_band() -> None:
    found = bands(np.array([0.0, 0.2, 0.6, 1.0, 0.15]), np.array([2.0, 4, 8, 16, 4]), np.array([0.0, 1, 0.5, 1, 1]))
    assert list(found) == ["0-20", "20-40", "60-80", "80-100"]
    assert found["0-20"] == (2, 3.0, 0.075, 0.5)
