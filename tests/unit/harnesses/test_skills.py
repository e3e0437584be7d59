"""Skills: what calls one, which one is retrieved, and which turns are branched."""

from typing import Any

import pytest
from pydantic import ValidationError

from hone.environments.contract import Message
from hone.harnesses.contract import first_prompt
from hone.harnesses.seat import Answer, Heard
from hone.harnesses.skills import Skills, SkillsParams, Turn, called, chosen, retrieved

LIBRARY = {"heat": "Open the microwave, put the thing in, close it.", "cool": "Put the thing in the fridge.", "aid": ""}
PARAMS = SkillsParams(library=LIBRARY, branches=2, retrieve=0.5)
OPENING: list[Message] = [{"role": "user", "content": "A cold potato."}]


@pytest.mark.parametrize(("text", "skill"), [
    ("skill: heat", "heat"), ("Hot it must be.\n  skill:heat  ", "heat"), ("skill: fly away", "fly away"),
    ("skill: heat\nskill: cool", "heat"), ("skill:", ""), ("<think>skill: heat</think>go", None),
    ("<think>no</think>skill: cool", "cool"), ("<think>skill: heat", None), ("a skill: heat", None), ("", None)])
def test_the_first_line_that_calls_a_skill_counts(text: str, skill: str | None) -> None:
    assert called(text, PARAMS) == skill


def test_another_text_can_open_a_call() -> None:
    params = SkillsParams(library=LIBRARY, call="use ")
    assert (called("use heat", params), called("skill: heat", params)) == ("heat", None)


@pytest.mark.parametrize(("text", "least", "skill"), [
    ("The thing is in the microwave.", 0.5, "heat"), ("Heat the potato!", 0.5, "heat"),
    ("The fridge and the thing", 0.9, None), ("aid it", 0.5, "aid"), ("nothing", 0.1, None), ("nothing", 0, "heat"),
    ("", 0, "heat"), ("", 0.1, None)])
def test_the_skill_with_most_common_words_is_retrieved(text: str, least: float, skill: str | None) -> None:
    assert retrieved(text, LIBRARY, least) == skill
    assert retrieved(text, {}, 0) is None


def turn(number: int, entropy: float, skill: str | None = None, heard: str = "heat") -> Turn:
    said = Heard([{"role": "user", "content": heard}])
    return Turn(said, Answer(str(number), f"I {skill}", entropy=entropy), skill, skill is None, said)


def test_uncertain_turns_and_calls_are_branched_three_turns_apart() -> None:
    turns = [turn(0, 0.9, "cool"), turn(1, 0.8), turn(2, 0.7, "fly"), turn(3, 0.1), turn(4, 0.6, heard="?")]
    found = chosen(turns, SkillsParams(library=LIBRARY, branches=2, repeats=2))
    assert [(one.turn.answer.number, one.skill, one.invoked, one.repeat, one.words(PARAMS)) for one in found] == [
        ("0", "cool", True, 0, "I cool"), ("0", "cool", True, 1, "I cool"),
        ("3", "heat", False, 0, "skill: heat"), ("3", "heat", False, 1, "skill: heat")]
    assert found[0].note("skip") == {
        "before": "0", "side": "skip", "skill": "cool", "invoked": True, "entropy": 0.9, "repeat": 0}
    assert chosen(turns, SkillsParams(library=LIBRARY)) == []


def test_what_was_called_in_the_turn_before_is_not_retrieved() -> None:
    turns = [turn(0, 0.1, "fly", heard="?"), turn(1, 0.1, "heat"), turn(2, 0.9)]
    assert [one.turn.answer.number for one in chosen(turns, PARAMS)] == ["1"]
    assert [one.turn.answer.number for one in chosen(turns[:1] + turns[2:], PARAMS)] == ["2"]


def test_its_first_prompt_names_the_skills_unless_there_are_none() -> None:
    asked, _ = first_prompt(Skills(), PARAMS, OPENING, [])
    assert asked[1:] == OPENING
    assert asked[0]["content"].endswith("skill: <name>\nSkills: heat, cool, aid\n")
    for params in (SkillsParams(), SkillsParams(library=LIBRARY, describe=False)):
        assert first_prompt(Skills(), params, OPENING, [])[0] == OPENING


@pytest.mark.parametrize("params", [{"library": {"": "x"}}, {"library": {"a\nb": "x"}}, {"library": {" a": "x"}},
                                    {"call": ""}, {"branches": -1}, {"repeats": 0}])
def test_names_are_one_line_and_numbers_make_sense(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SkillsParams.model_validate(params)
