import pytest

from benchmarks import figures


@pytest.mark.parametrize(("values", "warm_up", "expected"), [
    ([9.0, 1.0, 2.0, 3.0], 1, 2.0),
    ([1.0, 2.0], 0, 1.5),
    ([5.0, 5.0, 1.0], 2, 1.0),
])
def test_settled_median_leaves_the_warm_up_out(values: list[float], warm_up: int, expected: float) -> None:
    assert figures.settled_median(values, warm_up) == expected


def test_settled_median_refuses_a_run_that_is_all_warm_up() -> None:
    with pytest.raises(ValueError, match="nothing is left"):
        figures.settled_median([1.0, 2.0], 2)


def test_ratio_is_above_one_when_we_are_faster() -> None:
    assert figures.ratio(theirs=0.3, ours=0.15) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="positive"):
        figures.ratio(0.3, 0.0)


def test_rolling_means_end_at_their_last_value() -> None:
    assert figures.rolling_means([0.0, 1.0, 2.0, 3.0], 2) == [0.5, 1.5, 2.5]
    assert figures.rolling_means([1.0], 2) == []


REWARDS = [0.0, 0.5, 0.9, 0.9, 1.0]


@pytest.mark.parametrize(("target", "window", "steps", "seconds"), [
    (0.9, 2, 4, 1.0 + 2.0 + 3.0 + 4.0),
    (0.9, 1, 3, 1.0 + 2.0 + 3.0),
    (0.0, 2, 2, 3.0),
    (0.99, 2, None, None),
    (0.1, 9, None, None),
])
def test_time_to_target_counts_every_step_up_to_the_one_that_reaches_it(
    target: float, window: int, steps: int | None, seconds: float | None
) -> None:
    assert figures.steps_to_target(REWARDS, target, window) == steps
    assert figures.seconds_to_target([1.0, 2.0, 3.0, 4.0, 5.0], REWARDS, target, window) == seconds


def test_ten_times_the_target_reaches_the_target() -> None:
    assert figures.steps_to_target([0.9] * 10, 0.9, 10) == 10


def test_largest_gap_compares_the_steps_both_curves_have() -> None:
    assert figures.largest_gap([0.0, 0.0, 1.0], [0.5, 0.5], 1) == 0.5
    assert figures.largest_gap([], [], 3) == 0.0


def test_shares_say_what_nothing_accounts_for() -> None:
    assert figures.shares({"engine": 1.0, "trainer": 2.0}, 4.0) == {"engine": 0.25, "trainer": 0.5, "other": 0.25}
    with pytest.raises(ValueError, match="positive"):
        figures.shares({}, 0.0)
