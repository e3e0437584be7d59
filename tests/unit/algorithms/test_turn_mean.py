"""The mean over turns of each turn's token mean: duca.md, aggregation over turns instead of trajectories."""

import numpy as np
import pytest

from hone.algorithms.aggregations import AggregationInputs, PerTurn, turn_mean


def weights(tokens):
    return turn_mean(AggregationInputs(np.array(tokens, np.int64), 16), PerTurn(), {})[0]


def test_every_turn_with_tokens_is_one_vote():
    """Turns of 2 tokens with loss 1 and of 8 with loss 0.2, as in baselines.md (a) 12: 0.6 each row, here each turn."""
    assert weights([2, 8]) @ [2 * 1.0, 8 * 0.2] == pytest.approx(0.6, abs=1e-12)


def test_a_trajectory_of_more_turns_has_more_votes():
    """Three turns of one trajectory and one of another: 3/4 and 1/4, where the mean over trajectories halves them."""
    shares = weights([4, 1, 2, 5]) * [4, 1, 2, 5]
    np.testing.assert_allclose(shares, 0.25, atol=1e-15)


@pytest.mark.parametrize(("tokens", "expected"), [
    ([3, 0, 2], [1 / 6, 0, 1 / 4]), ([0, 0], [0, 0]), ([], []), ([1], [1]),
])
def test_turns_without_tokens_are_no_votes(tokens, expected):
    np.testing.assert_allclose(weights(tokens), expected, atol=1e-15)


def test_it_reads_turns():
    assert PerTurn().needs() == {"turns"}
