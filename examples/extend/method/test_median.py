"""Advantages of a small step, by hand."""

import numpy as np
from hone_median import METHOD

from hone.algorithms.inputs import AdvantageInputs


def test_the_advantage_is_the_distance_from_the_median_of_the_group():
    reward, group, tokens = np.array([0.0, 0.5, 9.0, 1.0]), np.array([0, 0, 0, 1]), np.array([1, 2, 1, 1])
    inputs = AdvantageInputs(reward, group, tokens, np.full(4, np.nan))
    advantage, _, _ = METHOD(inputs, {"scale": 2.0}, {})
    assert advantage.tolist() == [-1.0, 0.0, 0.0, 17.0, 0.0]
