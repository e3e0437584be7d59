"""Facts that are read from texts of a household, of a game with rooms, and of failures."""

import pytest

from hone.environments.tasks import episode, make
from hone.harnesses.mapping.facts import Fact, Where, extracted, mentions, normal, observed

NAMES = ["drawer 1", "drawer 11", "mug 1", "pan 2", "table", "apple", "knife", "shelf", "north"]


def texts(action: str, said: str, valid: bool = True) -> set[str]:
    found, _ = extracted(action, said, valid, valid, NAMES, Where("hall"))
    return {fact.text for fact in found}


def test_texts_are_brought_into_a_normal_form_and_the_longest_name_counts() -> None:
    assert normal("  The Drawer 1,  an APPLE. ") == "drawer 1, apple"
    assert mentions("open Drawer 11 and the drawer 1", NAMES) == ["drawer 11", "drawer 1"]
    assert mentions("open drawer 1", []) == []


@pytest.mark.parametrize(("action", "said", "expected"), [
    ("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see a mug 1, and a pan 2.",
     {"drawer 1 affords open", "drawer 1 contains mug 1", "drawer 1 contains pan 2", "hall connects drawer 1"}),
    ("go to drawer 1", "You arrive at drawer 1. On the drawer 1, you see nothing.",
     {"drawer 1 affords go to", "hall connects drawer 1", "drawer 1 contains nothing"}),
    ("go north", "> go north\nYou are in the spare room. You see: table (open; with apple, knife), shelf. You carry: "
     "mug 1.\nYou can: go north, take apple from table.",
     {"north affords go", "hall connects spare room", "table contains apple", "table contains knife",
      "spare room contains table", "spare room contains shelf", "apple affords take"}),
    ("take 2 pan 2", "You pick up the pan 2.", {"pan 2 affords take"}),
    ("look", "Nothing is here.", set())])
def test_what_is_seen_reached_and_possible_is_a_fact(action: str, said: str, expected: set[str]) -> None:
    assert texts(action, said) == expected


def test_a_failure_is_a_fact_where_the_action_names_a_thing() -> None:
    assert texts("take the mug 1", "You do not see it. Look around.", valid=False) == {
        "take mug 1 fails: you do not see it"}
    assert texts("dance", "Nothing happens.", valid=False) == set()


def test_what_was_moved_is_not_where_it_lies() -> None:
    _, where = extracted("take mug 1 from drawer 1", "You pick it up.", True, True, NAMES, Where("drawer 1"))
    assert where == Where("drawer 1", frozenset({"mug 1"}))
    found, _ = observed("On the shelf, you see a mug 1, and a pan 2.", NAMES, where)
    assert {fact.text for fact in found} == {"shelf contains pan 2"}
    assert observed("On the drawer 1, you see nothing.", NAMES, where)[0] == frozenset()


def test_without_names_only_reasons_and_places_are_known() -> None:
    found, where = extracted("go north", "You are in the cellar. You see: barrel.", True, True, [], Where("hall"))
    assert (found, where.place) == (frozenset({Fact("hall", "connects", "cellar")}), "cellar")


def test_facts_of_a_games_solution_are_those_of_its_world() -> None:
    pytest.importorskip("fast_downward", reason="the household's planner is not installed (no C++ compiler)")
    one = episode(make("household", {}, 2))
    opening = one.reset()
    assert opening.entities is not None
    names, said = opening.entities.present, opening.messages[0]["content"]
    found, where = observed(said, names)
    assert {fact.subject for fact in found} == {"room"}
    seen = dict.fromkeys(found, 0)
    for command in one.solution():  # type: ignore[attr-defined]
        taken = one.step(command)
        new, where = extracted(
            command, taken.observation.messages[0]["content"], taken.valid, taken.effect, names, where)
        seen.update(dict.fromkeys(new, 1))
    texts = {fact.text for fact in seen}
    assert {"drawer 1 contains tissuebox 1", "tissuebox 1 affords take", "desklamp 1 affords use"} <= texts
    assert not any("contains tissuebox 1" in text for text in texts - {"drawer 1 contains tissuebox 1"})
