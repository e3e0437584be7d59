"""Maps: how they are read, that observations support each entry (map.md (a) 4), and what a cap drops."""

import pytest

from hone.harnesses.mapping.facts import Fact
from hone.harnesses.mapping.maps import Entry, TaskMap, capped, task_words, validated, written

SEEN = {Fact("drawer 1", "contains", "mug 1"): 2, Fact("hall", "connects", "cellar"): 1,
        Fact("mug 1", "affords", "take"): 3, Fact("take mug 1", "fails", "you do not see it"): 1}
TEXT = """First I looked.
<map>
layout: The Drawer 1 contains a mug 1, a pan 2
- hall connects to cellar
mug 1 affords take
rule: take mug 1 fails because you do not see it
one should be careful
</map> done"""


def test_a_map_is_read_line_by_line() -> None:
    assert written(TEXT) == [
        Fact("drawer 1", "contains", "mug 1"), Fact("drawer 1", "contains", "pan 2"),
        Fact("hall", "connects", "cellar"), Fact("mug 1", "affords", "take"),
        Fact("take mug 1", "fails", "you do not see it"), None]
    assert written("mug affords take") == [Fact("mug", "affords", "take")]
    assert written("<map>x contains b, c\nd") == [Fact("x", "contains", "b"), Fact("x", "contains", "c"), None]
    assert written("") == []


def test_only_observed_entries_stay_and_precision_is_their_share() -> None:
    one = validated(written(TEXT), SEEN)
    assert {entry.fact: entry.step for entry in one.entries} == SEEN
    assert one.precision == pytest.approx(4 / 6)
    assert one.written == 6
    again = validated([entry.fact for entry in one.entries], SEEN)
    assert (again.precision, again.text) == (1.0, one.text)
    assert one.text.splitlines()[-1] == "take mug 1 fails: you do not see it"
    assert written(one.text) == [entry.fact for entry in one.entries], "a map can be read as it is shown"


def test_a_connection_counts_in_both_directions_and_an_entry_once() -> None:
    both = validated([Fact("cellar", "connects", "hall"), Fact("hall", "connects", "cellar")] * 2, SEEN)
    assert (len(both.entries), both.precision) == (2, 1.0)
    assert validated([Fact("mug 1", "contains", "drawer 1")], SEEN).precision == 0.0
    assert validated([], SEEN) == TaskMap()


def test_a_long_map_loses_layout_that_the_task_does_not_need_and_never_a_rule() -> None:
    task = "You see a shelf 7.\nYour task is to: put a mug in drawer."
    facts = [Fact("drawer 1", "contains", "mug 1"), Fact("shelf 7", "contains", "vase 2"),
             Fact("vase 2", "affords", "take"), Fact("mug 1", "affords", "take"), Fact("take vase 2", "fails", "glued")]
    whole = TaskMap(tuple(Entry(fact, 1) for fact in facts), 0.5, 10)

    def left(most: int) -> list[Fact]:
        return [entry.fact for entry in capped(whole, task, most).entries]

    assert task_words(task) == "Your task is to: put a mug in drawer."
    assert left(len(whole.text)) == facts
    assert left(len(whole.text) - 1) == [facts[0], *facts[2:]]
    assert left(70) == facts[2:]
    assert left(45) == facts[3:]
    assert left(1) == facts[4:]
    assert capped(whole, task, 1).precision == 0.5
