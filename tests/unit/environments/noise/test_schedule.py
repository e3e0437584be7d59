"""Noise strikes within its budget, at its distance and in its third, and equal seeds strike alike."""

from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.environments.noise.schedule import Injected, Schedule
from hone.spec.noise import NoiseSpec, TaskNoise


def struck(schedule: Schedule, steps: int, tool: str = "query") -> list[int]:
    """Return the steps that noise strikes in an episode of one tool."""
    before = list[Injected]()
    for step in range(1, steps + 1):
        if schedule.strikes(step, tool, before):
            before.append(Injected(step, tool))
    return [one.step for one in before]


@pytest.mark.parametrize(("terms", "steps", "expected"), [
    ({"prob": 0.7, "interval": 1}, 4, 1.7759), ({"prob": 0.7, "interval": 1}, 6, 2.6202),
    ({"prob": 0.7, "interval": 0}, 6, 4.2), ({"prob": 0.5, "interval": 0, "most": 1}, 4, 0.9375)])
def test_expected_injections_are_those_of_the_spec(terms: dict[str, float], steps: int, expected: float) -> None:
    found = fmean(len(struck(Schedule(seed, most_of_tool=None, **terms), steps))  # type: ignore[arg-type]
                  for seed in range(20_000))
    assert found == pytest.approx(expected, abs=0.02)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 3), st.integers(0, 4), st.integers(0, 3))
def test_budgets_and_distances_hold(seed: int, start: int, interval: int, most: int, of_tool: int) -> None:
    found = struck(Schedule(seed, 0.9, start, interval, most, of_tool), 30)
    assert len(found) <= min(most, of_tool)
    assert all(step >= start for step in found)
    assert all(later - step > interval for step, later in pairwise(found))


@pytest.mark.parametrize(("where", "steps"), [("early", {1, 2}), ("middle", {3, 4}), ("late", {5, 6, 7, 8})])
def test_a_third_is_of_the_expected_episode(where: str, steps: set[int]) -> None:
    terms = TaskNoise(type="failure", intensity=3, prob=1, interval=0, most=-1, most_of_tool=-1, expected_steps=6,
                      where=where)  # type: ignore[arg-type]
    assert set(struck(Schedule.of(terms), 8)) == steps


def test_equal_keys_give_equal_noise_and_a_share_of_the_tasks_is_clean() -> None:
    spec = NoiseSpec(share=0.5, seed=3)
    drawn = [spec.of_task(f"1/{place}") for place in range(2000)]
    assert drawn == [spec.of_task(f"1/{place}") for place in range(2000)]
    noisy = [one for one in drawn if one is not None]
    assert len(noisy) == pytest.approx(1000, abs=100)
    for kind in spec.types:
        assert sum(one.type == kind for one in noisy) == pytest.approx(200, abs=60)
    assert NoiseSpec(intensity=0).of_task("1/0") is None


def test_noise_that_leaves_no_way_is_refused() -> None:
    endless = {"prob": 1, "interval": 0, "most": -1, "most_of_tool": -1}
    with pytest.raises(ValueError, match="expected a clean result after some tries, and failure at every step leaves"):
        NoiseSpec.model_validate({**endless, "types": ["failure", "redundancy"]})
    assert NoiseSpec.model_validate({**endless, "types": ["redundancy"]}).budget is None
    with pytest.raises(ValueError, match="expected a value of expected_steps"):
        NoiseSpec(where="early")
