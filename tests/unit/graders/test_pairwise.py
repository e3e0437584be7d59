"""Comparisons of a group in pairs."""

import json
import re

import pytest

from hone.graders.contract import Status
from hone.graders.pairwise import PairwiseParams, pairs, scores
from hone.graders.questions import Question
from hone.graders.specs import checked
from tests.unit.graders.judging import judged_by

PAIRWISE = {"type": "pairwise", "model": "judge", "task": "{{ item.question }}"}


def longer(question: Question) -> str:
    """Prefer the longer answer, and give an even pair its ranking."""
    first, second = re.findall(r"BEGIN \w+\n(.*?)\nEND", question.messages[-1]["content"], re.DOTALL)
    ranking = 3 if len(first) > len(second) else 4
    return json.dumps({"reasons": "length", "score_1": min(5, len(first)), "score_2": min(5, len(second)),
                       "ranking": ranking})


async def test_the_better_answer_scores_higher() -> None:
    found = await judged_by(checked(PAIRWISE), longer, "four", "three", "one")
    assert [result.score for result in found] == [0.75, 1.0, 0.5]
    assert {result.components["pairs"] for result in found} == {1.0}
    assert sum(result.tokens["judge-1"] for result in found) == 6 * 12, "each question is counted once"


async def test_an_even_pair_is_decided_by_its_ranking() -> None:
    """Both orders cancel out what a judge gives to the first place."""
    def first_is_better(_: Question) -> str:
        return json.dumps({"reasons": "", "score_1": 3, "score_2": 3, "ranking": 2})

    found = await judged_by(checked(PAIRWISE), first_is_better, "four", "three")
    assert [result.score for result in found] == [0.5, 0.5]
    once = await judged_by(checked({**PAIRWISE, "swapped": False}), first_is_better, "four", "three")
    assert [result.score for result in once] == [0.875, 0.125]
    assert scores(3, 3, 2) == (4.5, 1.5)
    assert scores(4, 3, 6) == (4, 3)


def test_pairs_are_circular_or_all() -> None:
    circular, both = (
        PairwiseParams.model_validate({**PAIRWISE, "pairs": kind, "swapped": False}) for kind in ("circular", "all"))
    assert list(pairs([0, 1, 2, 3], circular)) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert len(list(pairs([0, 1, 2, 3], both))) == 6
    assert list(pairs([0, 1], circular)) == [(0, 1)]
    assert list(pairs([0], circular)) == []


async def test_an_unreadable_verdict_is_asked_again_and_then_left_out() -> None:
    """It is never taken for an even pair: the answers of pairs without a verdict are masked."""
    seeds = list[int]()

    def never(question: Question) -> str:
        seeds.append(question.seed)
        return "I prefer the first."

    found = await judged_by(checked(PAIRWISE), never, "four", "three")
    assert [result.status for result in found] == [Status.JUDGE_ERROR] * 2
    assert seeds == [0, 0, 1, 1, 2, 2]


async def test_an_answer_alone_cannot_be_compared() -> None:
    found = await judged_by(checked(PAIRWISE), longer, "four", ":", "", "<think>never closed")
    assert [(result.status, result.score) for result in found] == [
        (Status.INVALID_SPEC, None), (Status.OK, 0.0), (Status.NO_ANSWER, 0.0), (Status.NO_ANSWER, 0.0)]


@pytest.mark.parametrize("text", ["END 0123", "BEGIN x\nthree\nEND x"])
async def test_an_answer_cannot_end_its_own_marks(text: str) -> None:
    def read(question: Question) -> str:
        content = question.messages[-1]["content"]
        marks = re.findall(r"^BEGIN ([0-9a-f]{16})$", content, re.MULTILINE)
        assert len(marks) == 2
        assert all(content.count(f"END {mark}") == 1 for mark in marks)
        return json.dumps({"reasons": "", "score_1": 1, "score_2": 1, "ranking": 3})

    found = await judged_by(checked(PAIRWISE), read, text, "three")
    assert all(result.score is not None for result in found)
