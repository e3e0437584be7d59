"""Texts of self-written skills: which are rejected, and which thoughts repeat them (siri.md, edge cases)."""

import re

import numpy as np
import pytest

from benchmarks.methods.skill_text import SkillTextParams, referring, refusal, unmarked

PARAMS = SkillTextParams()
SKILL = "Heat things. 1. Find the object on a counter. 2. Open the microwave and put the object in. 3. Take it out."


@pytest.mark.parametrize(("text", "tokens", "reason"), [
    (SKILL, 30, ""), (SKILL, 160, ""), (SKILL, 161, "161 tokens, at most 160"), (" \n", 1, "empty"),
    ("Take mug 3 to the sink.", 8, "names an instance: 'mug 3'"), ("Go to Shelf_12.", 8, "names an instance: 'f_12'"),
    ("Open item #4 first.", 8, "names an instance: '#4'"),
    ("See https://shop.example/x.", 9, "names an instance: 'https://'"),
    ("Buy B09QXZ12AB at once.", 9, "names an instance: 'B09QXZ12AB'"),
    ("Check at least 2 shelves, in step 1 and 2.", 12, ""),
    ("Compare prices before checkout.", 6, ""), ("Look for internationalization.", 6, ""),
])
def test_candidates_that_are_not_tested(text, tokens, reason):
    assert refusal(text, tokens, PARAMS) == reason


def test_patterns_are_parameters():
    assert refusal("Take mug 3.", 4, SkillTextParams(instance_ids=())) == ""
    assert refusal("Ask Bob.", 4, SkillTextParams(instance_ids=("bob",))) == "names an instance: 'Bob'"


def marked(text, skill=SKILL, params=PARAMS):
    return [text[start:end] for start, end in referring(text, skill, params)]


@pytest.mark.parametrize(("text", "expected"), [
    ("I need heat. As the skill says, find it first! Then go.", [" As the skill says, find it first!"]),
    ("Now I open the microwave and put the object in. Done.", ["Now I open the microwave and put the object in."]),
    ("OPEN the microwave, and put: the object in\nDone.", ["OPEN the microwave, and put: the object in\n"]),
    ("I open the microwave and put it in.", []), ("My cooking needs practice.", []), ("", []),
])
def test_sentences_that_refer_to_the_skill_or_repeat_it(text, expected):
    assert marked(text) == expected


def test_a_short_skill_is_repeated_as_a_whole():
    assert marked("First look twice, then leap. Go.", "Look twice") == ["First look twice, then leap."]
    assert marked("First look once, then leap twice.", "Look twice") == []
    assert marked("Anything at all.", "") == []


def test_tokens_of_such_sentences_are_not_trained():
    text = "Go on. The skill says stop. Go."
    offsets = np.array([match.span() for match in re.finditer(r"\S+", text)], np.int64)
    kept = unmarked(offsets, referring(text, SKILL, PARAMS))
    assert kept.tolist() == [True, True, False, False, False, False, True]


def test_a_token_that_a_sentence_cuts_is_left_out():
    assert unmarked(np.array([[0, 3], [3, 6], [6, 9]]), [(4, 6)]).tolist() == [True, False, True]
    assert unmarked(np.zeros((0, 2), np.int64), [(0, 1)]).tolist() == []
