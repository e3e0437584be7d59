"""map.md's second check: a scripted policy in households takes fewer steps, and fewer that fail, with a map."""

import pytest

from benchmarks.methods import household_maps
from benchmarks.methods.experiment import Figures
from benchmarks.methods.local_play import chains

pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")


def test_with_a_map_a_scripted_policy_takes_fewer_steps_and_fewer_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(household_maps, "GAMES", 3)
    means: dict[str, Figures] = {
        variant: household_maps.run(variant, 0).figures for variant in household_maps.VARIANTS}
    assert [expected.holds(means) for expected in household_maps.HOUSEHOLD_MAPS.expects] == [True] * 4
    assert means["map"]["success"] == means["without"]["success"] == 1.0
    swapped = {"map": {**means["without"], "map precision": 0.5}, "without": means["map"]}
    assert [expected.holds(swapped) for expected in household_maps.HOUSEHOLD_MAPS.expects[:2]] == [False, False]


def test_the_map_is_a_conversation_of_its_own_and_ends_once_nothing_new_is_seen() -> None:
    one = household_maps.played(0, "map")
    assert [len(chain) for chain in chains(one.calls)[1:2]] == [2]
    assert one.notes("stop") == ["converged"]
