"""Gains, forgetting and transfer: the worked numbers of the spec, its identities, and intervals."""

import math

import numpy as np
import pytest

from hone.algorithms import transfer
from hone.algorithms.inputs import Flags, Floats

BASE = [20.0, 40.0, 60.0]
ALONE = [[80.0, 42.0, 55.0], [25.0, 90.0, 58.0], [18.0, 45.0, 85.0]]
SEQUENCE = np.array([BASE, [80, 42, 55], [76, 91, 57], [75, 88, 86]])
IN_TURN: Flags = np.eye(3, dtype=np.bool_)


def gains(base: list[float], row: list[float], own: int) -> tuple[float, float, float]:
    matrix, trained = np.array([base, row]), np.arange(len(base))[None] == own
    held_in, held_out, overall = (transfer.mean_change(matrix, of(trained, 1)) for of in (
        transfer.held_in, transfer.held_out, transfer.overall))
    return held_in, held_out, overall


def test_gains_of_models_trained_on_one_source_are_the_worked_numbers() -> None:
    found = [gains(BASE, row, own) for own, row in enumerate(ALONE)]
    assert [one[0] for one in found] == [60, 50, 25]
    assert [one[1] for one in found] == [-1.5, 1.5, 1.5]
    assert [one[2] for one in found] == pytest.approx([19, 17.667, 9.333], abs=1e-3)


def test_forgetting_and_forward_transfer_of_a_sequence_are_the_worked_numbers() -> None:
    assert transfer.mean_change(SEQUENCE, transfer.backward(IN_TURN)) == -4
    assert transfer.mean_change(SEQUENCE, transfer.forward(IN_TURN)) == -0.5
    assert transfer.average(SEQUENCE[-1]) == 83


def test_the_base_gains_nothing_and_the_order_of_sources_does_not_matter() -> None:
    assert gains(BASE, BASE, 0) == (0, 0, 0)
    order = [2, 0, 1]
    for own, row in enumerate(ALONE):
        moved = gains([BASE[one] for one in order], [row[one] for one in order], order.index(own))
        held_in, held_out, overall = gains(BASE, row, own)
        assert moved == pytest.approx((held_in, held_out, overall))
        assert overall == pytest.approx((held_in + 2 * held_out) / 3)


def test_a_mean_over_nothing_is_nan_and_missing_cells_are_left_out() -> None:
    alone: Flags = np.ones((1, 1), np.bool_)
    one = np.array([[0.2], [0.5]])
    assert math.isnan(transfer.mean_change(one, transfer.held_out(alone, 1)))
    assert math.isnan(transfer.mean_change(one, transfer.backward(alone)))
    assert math.isnan(transfer.mean_change(one, transfer.forward(alone)))
    missing = SEQUENCE.copy()
    missing[3, 0] = math.nan
    assert transfer.mean_change(missing, transfer.backward(IN_TURN)) == -3
    assert transfer.average(missing[3]) == 87


def test_a_source_that_is_trained_again_has_forgotten_nothing_before() -> None:
    trained: Flags = np.array([[1, 0], [0, 1], [1, 0]], np.bool_)
    assert transfer.backward(trained) == [transfer.Change(1, 2, 3)]
    assert transfer.forward(trained) == [transfer.Change(1, 0, 1)]
    joint: Flags = np.ones((1, 3), np.bool_)
    assert (transfer.backward(joint), transfer.forward(joint)) == ([], [])


def test_the_relative_error_reduction_has_no_value_at_the_top() -> None:
    assert transfer.relative_error_reduction(40, 70, 100) == 0.5
    assert math.isnan(transfer.relative_error_reduction(1, 1))


def tasks(*values: float) -> Floats:
    return np.array(values, np.float64)


def test_an_interval_is_that_of_tasks_drawn_again_in_each_source_by_itself() -> None:
    first, second = tasks(*([0.0] * 30 + [1.0] * 70)), tasks(*([0.25] * 50))
    found = transfer.estimate([first, second, tasks()], seed=3)
    assert found == transfer.estimate([first, second], seed=3)
    assert found.value == pytest.approx((0.7 + 0.25) / 2)
    deviation = math.sqrt(0.7 * 0.3 / 100) / 2
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=0.08)
    assert found.real
    assert found != transfer.estimate([first, second], seed=4)


def test_a_gain_is_real_only_if_its_interval_excludes_zero() -> None:
    assert not transfer.estimate([tasks(1, -1, 0, 0.5, -0.4)], seed=0).real
    assert transfer.estimate([tasks(-0.5, -0.1, -0.2)], seed=0).real
    nothing = transfer.estimate([], seed=0)
    assert math.isnan(nothing.value)
    assert not nothing.real
    constant = transfer.estimate([tasks(0, 0, 0)], seed=0)
    assert (constant.value, constant.low, constant.high, constant.real) == (0, 0, 0, False)


def test_many_tasks_are_drawn_in_parts_and_to_the_same_interval_each_time() -> None:
    many = np.random.default_rng(0).random(10_000)
    found = transfer.estimate([many], seed=1)
    assert found == transfer.estimate([many], seed=1)
    assert found.low < many.mean() < found.high
