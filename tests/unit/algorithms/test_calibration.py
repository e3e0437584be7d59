"""Calibration error, area under the curve and bands against numbers that were counted by hand."""

import numpy as np
import pytest

from hone.algorithms.calibration import area_under_curve, bands, calibration_error


def test_the_calibration_error_is_the_gap_of_each_bin() -> None:
    chances, outcomes = np.array([0.05, 0.05, 0.95, 1.0]), np.array([0.0, 0.5, 1.0, 0.5])
    assert calibration_error(chances, outcomes) == pytest.approx((abs(0.1 - 0.5) + abs(1.95 - 1.5)) / 4)
    assert calibration_error(np.zeros(0), np.zeros(0)) == 0


def test_the_area_counts_pairs_and_halves_of_ties() -> None:
    chances = np.array([0.9, 0.5, 0.5, 0.1])
    assert area_under_curve(chances, np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert area_under_curve(chances, np.ones(4)) is None


def test_a_chance_at_a_border_is_in_the_upper_band() -> None:
    found = bands(np.array([0.0, 0.2, 0.6, 1.0, 0.15]), np.array([2.0, 4, 8, 16, 4]), np.array([0.0, 1, 0.5, 1, 1]))
    assert list(found) == ["0-20", "20-40", "60-80", "80-100"]
    assert found["0-20"] == (2, 3.0, 0.075, 0.5)
