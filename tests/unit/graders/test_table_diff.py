"""Differences of tables: stage-claw.md, how to verify (a)(1), and the alignment of scaleenv.md."""

import random

from hone.graders.stored_tables import StoredTable
from hone.graders.table_diff import TableClasses, changes, mismatches, paired

KEYED = TableClasses()
UNKEYED = TableClasses({"id": "exempt", "note": "semantic"})


def table(*rows: tuple[object, ...]) -> StoredTable:
    return StoredTable([dict(zip(("id", "user", "note"), row, strict=True)) for row in rows], ["id"])


def test_a_state_differs_in_nothing_from_itself() -> None:
    state = table((1, "a", "x"), (2, "b", "y"))
    assert changes(state, state, KEYED) == changes(state, state, UNKEYED)
    assert not any(vars(changes(state, state, KEYED)).values())


def test_the_other_way_round_added_and_removed_rows_change_places() -> None:
    drawn = random.Random(0)
    for _ in range(50):
        one, other = (table(*((place, drawn.choice("ab"), "x") for place in sorted(drawn.sample(range(6), 3))))
                      for _ in range(2))
        for classes in (KEYED, UNKEYED):
            there, back = changes(one, other, classes), changes(other, one, classes)
            assert (there.added, there.removed) == (back.removed, back.added)
            assert sorted(map(str, there.changed)) == sorted(str((b, a)) for a, b in back.changed)


def test_rows_with_an_exempt_key_are_a_multiset_of_their_hard_columns() -> None:
    expected = table((1, "a", "buy some milk"), (2, "a", "pay the rent"), (3, "a", "pay the rent"))
    found = table((7, "a", "pay the rent"), (8, "a", "milk buy some"), (9, "a", "pay  the rent"))
    pairs = paired(found, expected, UNKEYED)
    assert (sorted(pairs.right), pairs.wrong, pairs.missing, pairs.extra) == ([0, 1, 2], {}, [], [])
    once = paired(table((7, "a", "pay the rent")), expected, UNKEYED)
    assert (len(once.right), len(once.missing)) == (1, 2)


def test_a_mismatch_names_table_key_column_and_both_values() -> None:
    expected, found = table((1, "a", "x"), (2, "b", "y")), table((1, "c", "x"), (3, "b", "y"))
    shown = [one.shown() for one in mismatches("todo", found, expected, paired(found, expected, KEYED), KEYED)]
    assert shown == [
        {"table": "todo", "key": {"id": 1}, "column": "user", "class": "hard", "expected": "a", "got": "c"},
        {"table": "todo", "key": {"id": 2}, "column": "", "class": "row", "expected": expected.rows[1], "got": None},
        {"table": "todo", "key": {"id": 3}, "column": "", "class": "row", "expected": None, "got": found.rows[1]}]


def test_keys_that_are_numbers_meet_within_the_tolerance() -> None:
    expected, found = (StoredTable([{"price": price, "name": "n"}], ["price"]) for price in (3, 3.0000000004))
    assert paired(found, expected, KEYED).right == {0: 0}


def test_hundreds_of_equal_rows_are_paired_at_once() -> None:
    rows = [{"user": "a", "note": f"row {place}"} for place in range(900)]
    pairs = paired(StoredTable(rows[::-1]), StoredTable(rows), TableClasses({"note": "semantic"}))
    assert len(pairs.right) == 900
