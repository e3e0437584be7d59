"""Ratings of a reward model as scores: verification.md, section 7."""

from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.error_kinds import ErrorKind
from hone.graders.judgement import grades
from hone.graders.questions import Asked, JudgeFailed, Rating, Reply
from hone.graders.sample import Sample
from hone.graders.specs import checked
from hone.sandbox.program import Program, Ran
from hone.spec.problems import Invalid

INPUT = [{"role": "user", "content": "{{ item.question }}"},
         {"role": "assistant", "content": "{{ sample.output_text }}"}]
GRADER: dict[str, Any] = {"type": "reward_model", "model": "rater", "input": INPUT}


class Rater:
    """Tools whose reward model gives one number for everything, or fails. It keeps what it was asked."""

    def __init__(self, number: str | JudgeFailed) -> None:
        self._number, self.asked_about = number, list[Asked]()

    async def graded(self, asked: Any) -> list[Result]:
        raise AssertionError(asked)

    async def asked(self, questions: Any) -> list[Reply | JudgeFailed]:
        self.asked_about += questions
        return [self._number if isinstance(self._number, JudgeFailed) else Reply(self._number, "rater-1", 12)
                for _ in questions]

    async def ran(self, programs: list[Program]) -> list[Ran]:
        raise AssertionError(programs)

    async def looked(self, *given: Any) -> Any:
        raise AssertionError(given)


async def rated(number: str | JudgeFailed, output: str = "Because.", **params: Any) -> tuple[Result, Rater]:
    tools: Any = Rater(number)
    [result] = await grades(checked({**GRADER, **params}), [Sample({"question": "Why?"}, output)], tools)
    return result, tools


@pytest.mark.parametrize(("number", "params", "score"), [
    ("1.5", {}, 1.5), ("-7", {}, -5.0), ("1e9", {}, 5.0), ("3.0", {"mean": 1.0, "std": 4.0}, 0.5),
    ("3.0", {"mean": 1.0, "std": 0.5, "clip": 2.0}, 2.0)])
async def test_a_rating_is_normalised_by_frozen_constants_and_clipped(
    number: str, params: dict[str, Any], score: float
) -> None:
    result, _ = await rated(number, **params)
    assert (result.status, result.score, result.components) == (Status.OK, score, {"rating": float(number)})
    assert (result.tokens, result.evidence[0]["answered"]) == ({"rater-1": 12}, number)


async def test_the_conversation_is_asked_without_reasoning_instructions_and_marks() -> None:
    _, tools = await rated("1", "<think>hm</think>Because {{ item.question }}")
    assert tools.asked_about == [Rating("rater", [
        {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because {{ item.question }}"}])]


@pytest.mark.parametrize("number", ["NaN", "Infinity", JudgeFailed(ErrorKind.MODEL_SERVER, "away")])
async def test_what_is_no_finite_number_masks_the_sample(number: str | JudgeFailed) -> None:
    result, _ = await rated(number)
    assert (result.status, result.score) == (Status.JUDGE_ERROR, None)


async def test_an_empty_answer_is_none() -> None:
    result, tools = await rated("1", "<think>hm</think>  ")
    assert (result.status, result.score, tools.asked_about) == (Status.NO_ANSWER, 0.0, [])


def test_its_range_is_that_of_the_clip() -> None:
    assert checked(GRADER).bounds == (-5.0, 5.0)
    assert checked({**GRADER, "clip": 2.5}).bounds == (-2.5, 2.5)


@pytest.mark.parametrize(("params", "words"), [
    ({"input": INPUT[:1]}, "input"), ({"input": INPUT[::-1]}, "expected a last message of the assistant"),
    ({"input": [INPUT[0], {"role": "assistant", "content": "Because."}]}, r"\{\{ sample.output_text \}\}"),
    ({"std": 0.0}, "std"), ({"clip": -1.0}, "clip"), ({"model": ""}, "model")])
def test_wrong_params_are_named(params: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        checked({**GRADER, **params})
