"""The cascade of General365: the judge is asked only where no rule can tell, and never overrules one."""

import json
from typing import Any

import pytest

from hone.graders.contract import Status
from hone.graders.questions import Question
from hone.graders.specs import checked
from tests.unit.graders.judging import judged_by

HYBRID = {"type": "hybrid_equivalence", "model": "judge", "answer_type": "{{ item.kind }}"}


def row(answer: str, kind: str) -> dict[str, Any]:
    return {"question": "which one?", "answer": answer, "kind": kind}


def never(_: Question) -> str:
    raise AssertionError("it was asked")


@pytest.mark.parametrize(("output", "item", "score", "by"), [
    (r"so \boxed{6}, no: \boxed{7}", row("7", "number"), 1.0, "rule"),
    (r"\boxed{0.5}", row("1/2", "number"), 1.0, "rule"), (r"\boxed{3}", row("4", "number"), 0.0, "rule"),
    ("the answer is 12:30", row("12:30", "text"), 1.0, "string"),
    ("the answer is 11:45", row("12:30", "time"), 0.0, "string"),
    (r"\boxed{BA}", row("AB", "multiple_choice"), 1.0, "string"),
    (r"\boxed{BA}", row("AB", "order"), 0.0, "string"), (r"\boxed{B}", row("A", "single_choice"), 0.0, "string")])
async def test_no_judge_is_asked_where_a_rule_can_tell(output: str, item: Any, score: float, by: str) -> None:
    [result] = await judged_by(checked(HYBRID), never, output, item=item)
    assert (result.status, result.score, result.decided_by) == (Status.OK, score, by)


async def test_a_judge_decides_what_is_left_by_the_extracted_answer() -> None:
    def asked(question: Question) -> str:
        assert "on Tuesday morning" in question.messages[-1]["content"]
        assert "my reasoning" not in question.messages[-1]["content"]
        return json.dumps({"accuracy": True})

    item = row("Tuesday before noon", "text")
    [result] = await judged_by(checked(HYBRID), asked, "my reasoning\nThe answer is: on Tuesday morning", item=item)
    assert (result.score, result.decided_by, result.tokens) == (1.0, "judge", {"judge-1": 12})


@pytest.mark.parametrize("said", ["true", "yes", '{"accuracy": 1}', '{"accuracy": "true"}', "{}", "```json\n```"])
async def test_an_unreadable_verdict_is_counted_and_never_wrong(said: str) -> None:
    [result] = await judged_by(checked(HYBRID), lambda _: said, "The answer is: soon", item=row("later", "text"))
    assert (result.status, result.score) == (Status.JUDGE_ERROR, None)


async def test_without_strictness_rules_only_accept() -> None:
    official = checked({**HYBRID, "strict": False})
    [accepted] = await judged_by(official, never, r"\boxed{0.5}", item=row("1/2", "number"))
    says = '```json\n{"accuracy": false}\n```'
    [judged] = await judged_by(official, lambda _: says, r"\boxed{3}", item=row("4", "number"))
    assert (accepted.decided_by, judged.decided_by, judged.score) == ("rule", "judge", 0.0)


@pytest.mark.parametrize("output", ["", "<think>never closed", "<think>done</think>"])
async def test_no_answer_is_wrong_without_a_judge(output: str) -> None:
    [result] = await judged_by(checked(HYBRID), never, output, item=row("later", "text"))
    assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)
