"""Length-aware sampling (v-tabler1.md) against its worked numbers and the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from hone.algorithms.catalogue import FILTERS
from hone.algorithms.filters.length_band import LengthBand, groups_to_take, length_band
from hone.algorithms.inputs import FilterInputs, Groups
from hone.algorithms.method import Method
from tests.oracles import v_tabler1 as oracle

BAND: Method[FilterInputs, list[bool]] = Method(length_band, LengthBand)
SIGNAL, FLAT = [1.0, 0.0], [1.0, 1.0]
LENGTHS = [120, 340, 90, 800, 410, 260, 1500, 60, 520, 300]


def band(rewards, lengths, state=None, **params):
    return BAND(FilterInputs(rewards, lengths), params, state or {})


def test_3_short_and_long_groups_are_kept():
    kept, _, metrics = band([SIGNAL] * 10, LENGTHS, min_pool=0)
    assert np.flatnonzero(kept).tolist() == [0, 2, 3, 4, 7, 8]
    np.testing.assert_allclose(np.quantile(LENGTHS, [0.30, 0.65, 0.95]), [218, 399.5, 1185])
    assert metrics == {"filtered_groups": 4.0, "flat_share": 0.0, "length_share": 0.4, "keep_rate": pytest.approx(0.51)}


def test_quantiles_are_of_the_groups_with_signal_only():
    rewards, lengths = [FLAT] * 5 + [SIGNAL] * 10 + [FLAT], [1, 2, 3, 4, 5, *LENGTHS, 9999]
    kept, _, metrics = band(rewards, lengths, min_pool=10)
    assert np.flatnonzero(kept).tolist() == [5, 7, 8, 9, 12, 13]
    assert metrics["flat_share"] == 6 / 16
    assert metrics["length_share"] == 4 / 16


@pytest.mark.parametrize(("size", "all_kept"), [(19, True), (20, False)])
def test_a_pool_below_the_minimum_skips_lengths(size, all_kept):
    assert all(band([SIGNAL] * size, list(range(size)))[0]) == all_kept


def test_equal_lengths_are_all_kept():
    assert all(band([SIGNAL] * 30, [1 / 3] * 30)[0])
    assert all(band([SIGNAL] * 3, [100.0, 100.0 * (1 + 1e-10), 100.0 * (1 - 1e-10)], min_pool=0)[0])


def test_no_groups_or_none_with_signal():
    assert band([], [])[:2] == ([], {"keep_rate": 0.5})
    assert band([FLAT, [None, 1.0], []], [1, 2, 3], min_pool=0)[0] == [False] * 3


@pytest.mark.parametrize(("state", "kept", "expected"), [({}, 4, 0.55), ({}, 1, 0.475), ({"keep_rate": 0.1}, 0, 0.1)])
def test_the_keep_rate_is_a_running_mean_with_a_floor(state, kept, expected):
    _, after, _ = band([SIGNAL] * kept + [FLAT] * (4 - kept), [5.0] * 4, state)
    assert after == {"keep_rate": pytest.approx(expected)}


@pytest.mark.parametrize(("wanted", "state", "taken"), [
    (8, {}, 16), (3, {"keep_rate": 0.3}, 10), (7, {"keep_rate": 0.1}, 70), (5, {"keep_rate": 1.0}, 5),
    (5, {"keep_rate": 0.9}, 6),
])
def test_a_step_takes_the_wanted_groups_over_the_keep_rate(wanted, state, taken):
    assert groups_to_take(wanted, state) == taken


@pytest.mark.parametrize("params", [{"low": 0.7}, {"longest": 0.5}, {"floor": 0}, {"memory": 1}])
def test_bounds(params):
    with pytest.raises(ValidationError):
        band([], [], **params)


def test_without_lengths_it_is_dynamic_sampling():
    rewards: Groups = [SIGNAL, FLAT, [0.0, None], [0.0, 1e-8], [0.0, 2e-8]]
    assert band(rewards, [1, 2, 3, 4, 5])[0] == FILTERS["dynamic_sampling"](FilterInputs(rewards), {}, {})[0]


REWARDS = st.lists(st.sampled_from([0.0, 0.5, 1.0, None]), max_size=4)


@given(st.lists(st.tuples(REWARDS, st.floats(0, 2000)), max_size=40), st.sampled_from([0, 5, 20]))
def test_it_agrees_with_the_oracle(groups, min_pool):
    rewards, lengths = [group for group, _ in groups], [length for _, length in groups]
    kept, state, metrics = band(rewards, lengths, min_pool=min_pool)
    assert kept == oracle.length_band(rewards, lengths, min_pool)
    assert 0.1 <= state["keep_rate"] <= 1
    assert metrics["filtered_groups"] == kept.count(False)
