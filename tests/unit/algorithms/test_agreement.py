"""Agreement of verdicts with labels: the worked numbers of the specifications of verification and AJ-Bench."""

from random import Random

import pytest

from hone.algorithms.agreement import (
    Agreement,
    counted,
    majority,
    majority_accuracy,
    mean,
    observed_rate,
    pooled,
    true_rate,
)


def test_worked_figures() -> None:
    assert Agreement(tp=40, fp=10, fn=20).f1 == pytest.approx(0.7273, abs=5e-5)
    small = Agreement(tp=3, fp=1, fn=2)
    assert (small.precision, small.recall) == (0.75, 0.6)
    assert small.f1 == pytest.approx(0.6667, abs=5e-5)


def test_pooled_and_mean_differ() -> None:
    tasks = [Agreement(8, 2, 0), Agreement(1, 0, 4)]
    assert pooled(tasks).f1 == 0.75
    assert mean(task.f1 for task in tasks) == pytest.approx(0.6111, abs=5e-5)


@pytest.mark.parametrize(("figures", "overall"), [
    ((72.47, 82.14, 72.60, 72.70, 83.14, 78.64, 79.71), 77.34),
    ((60.84, 68.42, 60.41, 65.52, 45.05, 48.41, 64.36), 59.00)])
def test_the_mean_of_seven_domains(figures: tuple[float, ...], overall: float) -> None:
    assert mean(figures) == pytest.approx(overall, abs=5e-3)
    assert mean([*figures, None]) == mean(figures), "a domain without a figure is left out"


def test_a_judge_that_always_accepts() -> None:
    always = counted([True, False] * 50, [True] * 100)
    assert always.f1 == pytest.approx(2 / 3)
    assert (always.balanced_accuracy, always.gap, always.false_accepts) == (0.5, 0.0, 1.0)


def test_what_was_not_counted_has_no_figure() -> None:
    assert Agreement(tn=5).f1 is None
    assert Agreement(tp=5).gap is None
    assert mean([]) is None
    nothing = Agreement(invalid=2)
    assert (nothing.precision, nothing.balanced_accuracy, nothing.no_verdict) == (None, None, 1.0)


def test_counts_do_not_depend_on_the_order_of_cases() -> None:
    cases = [(True, True), (True, False), (False, True), (False, False), (True, None), (False, False)]
    first = counted(*zip(*cases, strict=True))
    assert first == Agreement(1, 1, 1, 2, 1)
    Random(0).shuffle(cases)
    assert counted(*zip(*cases, strict=True)) == first


def test_rates_through_a_judge_and_back() -> None:
    assert observed_rate(0.25, 0.05, 0.20) == pytest.approx(0.2375)
    assert true_rate(0.30, 0.05, 0.20) == pytest.approx(1 / 3)
    assert true_rate(observed_rate(0.6, 0.1, 0.3), 0.1, 0.3) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="other than 1"):
        true_rate(0.5, 0.4, 0.6)


def test_a_majority_of_independent_judges() -> None:
    assert majority_accuracy(0.85, 3) == pytest.approx(0.939, abs=5e-4)
    assert majority_accuracy(0.72, 3) == pytest.approx(0.809, abs=5e-4)
    with pytest.raises(ValueError, match="an odd number"):
        majority_accuracy(0.8, 2)
    assert [majority(given) for given in ([True, True, False], [False, None], [True, False], [])] == [
        True, False, None, None]
