"""Functions that policy losses share: means over trajectories, and losses with a known slope."""

import pytest
import torch

from hone.algorithms.inputs import MAX_LOG_RATIO, LossInputs, bounded_ratio

VALUES = torch.tensor([1.0, 3.0, 5.0, -2.0, 4.0, 7.0])


def inputs(trajectory: list[int] | None, logp: torch.Tensor = VALUES) -> LossInputs:
    numbers = None if trajectory is None else torch.tensor(trajectory)
    return LossInputs(logp, torch.zeros(6), torch.ones(6), numbers, 9)


@pytest.mark.parametrize(("trajectory", "means"), [
    ([0, 0, 0, 1, 2, 2], [3.0, -2.0, 5.5, 0, 0, 0, 0, 0, 0]),
    ([3, 3, 7, 7, 7, 8], [0, 0, 0, 2.0, 0, 0, 0, 7 / 3, 7.0]),
    ([5] * 6, [0, 0, 0, 0, 0, 3.0, 0, 0, 0]),
])
def test_means_over_the_trajectories_that_are_here(trajectory: list[int], means: list[float]) -> None:
    given = inputs(trajectory)
    found = given.trajectory_means(VALUES)
    torch.testing.assert_close(found, torch.tensor(means))
    torch.testing.assert_close(given.at_tokens(found), torch.tensor([means[place] for place in trajectory]))


def test_without_trajectories_all_tokens_are_ones() -> None:
    found = inputs(None).trajectory_means(VALUES)
    assert inputs(None).at_tokens(found).tolist() == [3.0] * 6


def test_a_mean_does_not_suffer_from_what_came_before_it() -> None:
    """Sums run along in float64: a large trajectory in front leaves a small one's mean as it is."""
    values = torch.tensor([1e6, 1e6, 1e-3, 3e-3, 2e-3, 2e-3])
    found = inputs([0, 0, 1, 1, 2, 2]).trajectory_means(values)
    torch.testing.assert_close(found[:3], torch.tensor([1e6, 2e-3, 2e-3]), rtol=1e-6, atol=0)


def test_a_loss_carries_its_slope_where_nothing_stops_it() -> None:
    logp = VALUES.clone().requires_grad_()
    loss, slope, stopped = torch.arange(6.0), torch.arange(6.0) - 3, torch.tensor([0.0, 1, 0, 1, 0, 0])
    carried = inputs(None, logp).carried(loss, slope, stopped)
    assert torch.equal(carried.detach(), loss)
    gradient, = torch.autograd.grad((carried * torch.full((6,), 2.0)).sum(), logp)
    assert torch.equal(gradient, 2 * slope * (1 - stopped))


def test_a_ratio_is_bounded_and_says_where() -> None:
    given = torch.tensor([-25.0, -MAX_LOG_RATIO, 0.0, 1.0, MAX_LOG_RATIO, 30.0])
    ratio, bounded = bounded_ratio(given)
    torch.testing.assert_close(ratio, given.clamp(-20, 20).exp())
    assert bounded.tolist() == [1, 0, 0, 0, 0, 1]
    assert given.tolist()[0] == -25.0
