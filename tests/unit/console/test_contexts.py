"""Differences between contexts add up to both of them."""

from hypothesis import given
from hypothesis import strategies as st

from services.console.contexts import Stretch, difference

_IDS = st.lists(st.integers(0, 3), max_size=30)


def test_a_longer_context_keeps_what_was_there() -> None:
    assert difference([1, 2, 3], [1, 2, 3, 4, 5]) == [Stretch("kept", 0, 3), Stretch("added", 3, 5)]


def test_what_was_dropped_is_named_by_its_place_before() -> None:
    assert difference([1, 2, 3, 4, 9], [1, 2, 9]) == [
        Stretch("kept", 0, 2), Stretch("removed", 2, 4), Stretch("kept", 2, 3)]


def test_few_tokens_that_are_alike_by_chance_are_not_kept() -> None:
    assert difference([1, 7, 2], [3, 7, 4]) == [Stretch("removed", 0, 3), Stretch("added", 0, 3)]
    same = list(range(20, 28))
    assert difference([1, *same, 2], [3, *same, 4]) == [
        Stretch("removed", 0, 1), Stretch("added", 0, 1), Stretch("kept", 1, 9), Stretch("removed", 9, 10),
        Stretch("added", 9, 10)]


def test_long_changes_are_told_whole() -> None:
    before, after = list(range(3000)), list(range(5000, 8001))
    assert difference(before, after) == [Stretch("removed", 0, 3000), Stretch("added", 0, 3001)]


@given(_IDS, _IDS)
def test_both_contexts_can_be_put_together_again(before: list[int], after: list[int]) -> None:
    found = difference(before, after)
    assert [one for part in found if part.kind != "removed" for one in after[part.start:part.end]] == after
    removed = [one for part in found if part.kind == "removed" for one in before[part.start:part.end]]
    kept = [one for part in found if part.kind == "kept" for one in after[part.start:part.end]]
    assert sorted([*removed, *kept]) == sorted(before)
