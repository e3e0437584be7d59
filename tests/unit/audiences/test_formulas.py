"""Anchoring, fusion, errors and the alarm: the exact examples of the method's spec."""

import numpy as np
import pytest

from hone.audiences import accuracy
from hone.audiences.alarm import GapAlarm
from hone.audiences.anchoring import anchored, weight
from hone.audiences.columns import Floats
from hone.audiences.fusion import Fusion, calibrate, least_squares

Q, EVIDENCE = np.array([0.1, 0.5, 0.9]), np.array([0.4, 0.7, 0.2])
RATES, REASONED, FITTED = (np.array(values)[:, None] for values in (
    [0.20, 0.30, 0.50], [0.30, 0.40, 0.60], [0.10, 0.25, 0.40]))
EQUAL = np.ones(3)


def test_the_whole_share_keeps_what_the_reasoner_says() -> None:
    assert anchored(Q, EVIDENCE, 1.0) == pytest.approx(Q)


def test_much_support_gives_the_evidence() -> None:
    assert anchored(Q, EVIDENCE, 1e-12) == pytest.approx(EVIDENCE)
    assert weight(np.array([0.0, 50.0, 500.0, 10_000.0])) == pytest.approx([1.0, 0.5, 1 / 11, 1 / 11])


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_evidence_that_agrees_changes_nothing(share: float) -> None:
    assert anchored(Q, Q, share) == pytest.approx(Q)


@pytest.mark.parametrize(("q", "evidence", "share", "expected"), [(0.9, 0.4, 0.3, 0.5927), (0.9, 0.1, 0.5, 0.5)])
def test_the_examples_of_the_anchor(q: float, evidence: float, share: float, expected: float) -> None:
    assert float(anchored(np.array(q), np.array(evidence), share)) == pytest.approx(expected, abs=5e-5)


def test_certainty_of_a_reasoner_is_bounded() -> None:
    assert anchored(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 1.0) == pytest.approx([0.005, 0.995])


def test_equal_branches_are_guarded() -> None:
    assert least_squares(RATES, FITTED, FITTED, EQUAL) == [0.5]
    assert Fusion((0.5,), {}).fuse(FITTED[0], FITTED[0], "", False) == pytest.approx(FITTED[0])


def test_a_right_branch_gets_all_the_weight() -> None:
    assert least_squares(FITTED, REASONED, FITTED, EQUAL) == [0.0]
    assert least_squares(REASONED, REASONED, FITTED, EQUAL) == [1.0]


def test_the_example_of_the_fusion() -> None:
    share = least_squares(RATES, REASONED, FITTED, EQUAL)
    fused = share * REASONED + (1 - share) * FITTED
    assert share[0] == pytest.approx(0.4634, abs=5e-5)
    assert fused[:, 0] == pytest.approx([0.1927, 0.3195, 0.4927], abs=5e-5)
    errors = [accuracy.group_error(one, RATES) for one in (REASONED, FITTED, fused)]
    assert errors == pytest.approx([34.44, 28.89, 3.88], abs=0.005)


@pytest.mark.parametrize("seed", range(20))
def test_the_fusion_errs_at_most_as_much_as_either_branch_on_its_own_groups(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    rates, reasoned, fitted = drawn.random((3, 9, 2))
    users = drawn.integers(1, 300, 9).astype(np.float64)
    share = least_squares(rates, reasoned, fitted, users)

    def error(predicted: Floats) -> Floats:
        return np.asarray((users[:, None] * (rates - predicted) ** 2).sum(0))

    fused = error(share * reasoned + (1 - share) * fitted)
    assert (fused <= np.minimum(error(reasoned), error(fitted)) + 1e-12).all()


def test_a_stratum_is_drawn_towards_all_groups() -> None:
    strata = ["a", "a", "b"]
    users = np.array([100.0, 100.0, 200.0])
    found = calibrate(RATES, REASONED, FITTED, users, strata)
    lone = least_squares(RATES[2:], REASONED[2:], FITTED[2:], users[2:])[0]
    assert found.strata["b"][0] == pytest.approx((200 * lone + 200 * found.weights[0]) / 400)
    assert found.weight("b", False) == found.strata["b"]
    assert found.weight("b", True) == found.weights
    assert found.weight("never seen", False) == found.weights


def test_the_floor_and_small_groups() -> None:
    zero, predicted = np.array([[0.0], [0.5]]), np.array([[0.01], [0.4]])
    assert accuracy.group_error(predicted, zero) == pytest.approx(100 * (0.01 / 0.02 + 0.2) / 2)
    found = accuracy.measured(predicted, zero, np.array([29.0, 30.0]))
    assert (found.gse, found.mae) == pytest.approx((20.0, 0.055))
    assert found.groups == 2
    assert accuracy.measured(predicted, zero, np.array([3.0, 3.0])).gse is None
    by_name = accuracy.by_stratum(predicted, zero, np.array([40.0, 40.0]), ["tea", "cafe"])
    assert {name: one.mae for name, one in by_name.items()} == pytest.approx({"cafe": 0.1, "tea": 0.01})


def test_the_direction_of_a_change() -> None:
    rates, predicted = np.array([[0.2], [0.5], [0.2]]), np.array([[0.3], [0.4], [0.1]])
    assert accuracy.sign_accuracy(predicted, rates, [(1, 0), (2, 1), (2, 0)]) == 1.0
    assert accuracy.sign_accuracy(predicted[::-1], rates, [(1, 0), (2, 1)]) == 1.0
    assert accuracy.sign_accuracy(-predicted, rates, [(1, 0)]) == 0.0
    assert accuracy.sign_accuracy(predicted, rates, [(2, 0)]) is None


def test_the_alarm_rings_above_its_limit_alone() -> None:
    alarm = GapAlarm(window=2)
    assert (alarm.mean, alarm.rings) == (0.0, False)
    alarm.add([0.64, 0.5], [0.5, 0.64])
    assert alarm.mean == pytest.approx(0.14)
    assert not alarm.rings
    alarm.add([0.9], [0.5])
    assert alarm.rings
    alarm.add([0.5], [0.5])
    alarm.add([0.5], [0.5])
    assert alarm.mean == 0.0
