"""A library of skills from a collection's items: what is admitted, merged, used, retired, retrieved and distilled."""

import json
from typing import Any

import pytest

from hone.harnesses.offers import MOST_BYTES, note
from hone.harnesses.seat import Kept
from hone.harnesses.skill_library import Skill, distilled, library, retrieve


def skill(text: str, about: str) -> dict[str, Any]:
    return {"skill": {"text": text, "about": about}}


def used(one: str, outcome: float) -> dict[str, Any]:
    return {"used": one, "outcome": outcome}


def items(*bodies: dict[str, Any]) -> list[Kept]:
    return [Kept(f"1.{place}", body) for place, body in enumerate(bodies)]


def test_utilities_follow_from_the_outcomes_in_their_order() -> None:
    made = library(items(skill("a", "x"), used("1.0", 1), used("0.9", 1), skill("b", "x"), used("1.0", 1),
                         used("1.0", 0)), 10)
    assert [(one.id, one.text, one.uses) for one in made] == [("1.0", "a", 4), ("1.3", "b", 1)]
    assert [one.utility for one in made] == pytest.approx([0.5213125, 0.5]), "skill1.md (a) 2; 0.9 is read no more"


def test_equal_texts_for_similar_scenarios_are_one_skill() -> None:
    [first, other] = library(items(skill("a", "heat a potato"), used("1.0", 1), skill("a", "Heat a potato!"),
                                   skill("a", "find a book")), 10)
    assert (first.id, first.uses, other.id) == ("1.0", 3, "1.3")
    assert first.utility == pytest.approx(0.95 * 0.525 + 0.05 * 0.5)


def test_of_too_many_skills_the_best_stay_in_their_order() -> None:
    given = items(skill("a", "x"), skill("b", "x"), skill("c", "x"), used("1.2", 1), used("1.0", 0))
    assert [one.id for one in library(given, 2)] == ["1.0", "1.2"], "used skills outlive a fresh one"


def test_similar_skills_are_retrieved_the_older_first() -> None:
    skills = [Skill("1.0", "a", "cool it"), Skill("1.1", "b", "heat a potato"), Skill("1.2", "c", "heat a pan", 0.9, 9)]
    assert [one.skill.id for one in retrieve("heat a potato", skills, 3, 0.4)] == ["1.1", "1.2"]
    assert [one.skill.id for one in retrieve("heat a thing", skills, 1, 0.4)] == ["1.1"]
    assert [one.skill.id for one in retrieve("heat a thing", skills, 9, 0.0, weight=0.5)] == ["1.2", "1.1", "1.0"]
    assert [one.skill.id for one in retrieve("heat a thing", skills, 9, 0.4, 0.5, explore=1.0)] == ["1.1", "1.2"]
    assert [found.similarity for found in retrieve("heat a thing", skills, 1, 0.4)] == pytest.approx([2 / 3])
    assert retrieve("", skills, 3, 0.4) == retrieve("any", [], 3, 0.0) == []


@pytest.mark.parametrize(("text", "expected"), [
    ('So: {"lessons": ["Look first.", " Then go. "], "scenario": "a room"}.', ("Look first.\nThen go.", "a room")),
    ('{"lessons": ["Look first."]}', ("Look first.", "task")), ('{"lessons": ["short"]}', None),
    ('{"lessons": []}', None), ('{"lessons": ["Look first."] * 3}', None), ('{"lessons": "Look first."}', None),
    ('{"lessons": ["Look first."], "scenario": 3}', None), ("[1]", None), ("}{", None), ("", None)])
def test_lessons_are_read_from_json(text: str, expected: tuple[str, str] | None) -> None:
    assert distilled(text, "task", "json", 6) == (
        None if expected is None else {"text": expected[0], "about": expected[1]})


def test_a_lesson_may_be_plain_and_is_cut_to_what_may_be_offered() -> None:
    assert distilled(" Look. ", "task", "plain", 5) == {"text": "Look.", "about": "task"}
    assert distilled("Look", "task", "plain", 5) is None
    for character in ("\x01", '"', "\U0001f600", "x"):
        long = distilled(MOST_BYTES * character, MOST_BYTES * character, "plain", 1)
        assert len(json.dumps(note("library", {"skill": long}, 0)["item"])) > MOST_BYTES / 2
