"""Verdicts: their forms, their rewards, and rows that are no judgements."""

import json
from typing import Any

import pytest

from hone.environments.verdict_form import boxed_answer, last_word
from hone.graders.contract import Result, Status
from hone.graders.judgement import judged
from hone.graders.specs import spec
from hone.graders.verdict import Wording
from hone.spec.problems import Invalid

ITEM = {"label": "Yes", "rho": 0.25}
WORD = {"verdict": "word", "yes_text": "+", "no_text": "-"}


def box(text: str) -> str:
    return rf"So \boxed{{{text}}}"


def graded(output: str, item: dict[str, Any], **params: Any) -> Result:
    return judged(spec(json.dumps({"type": "verdict", **params})), item, output)


@pytest.mark.parametrize(("text", "verdict"), [
    (box("Yes"), "Yes"), (box("no"), "No"), (box("YES"), "Yes"), (box(" No. "), "No"), (box(r"\text{Yes}"), "Yes"),
    (box(r"\text{ No. }"), "No"), (box("$Yes$"), "Yes"), (box(r"$\text{No}$."), "No"), (box("Yes ."), "Yes"),
    (box("Yes") + " or " + box("No"), "No"), (box("Yes") + "x" * 289, "Yes"), (box("Yes") + "x" * 290, None),
    (box("Yes") + "x" * 400 + box("No"), "No"), ("Yes", None), ("", None), (box(""), None), (box("Yes, it is"), None),
    (box("Yes.."), None), (box("correct"), None), (box(r"\textbf{Yes}"), None), (r"\boxed{Yes", None),
])
def test_the_last_box_of_the_last_300_characters(text: str, verdict: str | None) -> None:
    assert Wording().read(text) == verdict


@pytest.mark.parametrize(("text", "verdict"), [
    ("+", "Yes"), ("12 is 12\n -.", "No"), (" - + ", "Yes"), ("12+", None), ("", None), (" ", None), (box("+"), None),
])
def test_the_last_word(text: str, verdict: str | None) -> None:
    assert Wording.model_validate(WORD).read(text) == verdict


def test_an_answer_keeps_its_case() -> None:
    assert boxed_answer(box(r" $\text{New York}$. ")) == "New York"
    assert boxed_answer("New York") is None
    assert last_word("to New York.") == "York"


@pytest.mark.parametrize(("output", "item", "score"), [
    (box("Yes"), ITEM, 0.25), (box("No"), ITEM, 0.0), (box("No"), {"label": "No", "rho": 0.875}, 0.5),
    (box("Yes"), {"label": "Yes", "rho": 1}, 0.5), (box("Yes"), {"label": "No", "rho": 1.0}, 0.0),
])
def test_a_right_verdict_is_worth_the_pass_rate_up_to_the_cap(output: str, item: dict[str, Any], score: float) -> None:
    result = graded(output, item)
    assert (result.status, result.score, result.decided_by) == (Status.OK, score, "verdict")
    assert result.extracted in ("Yes", "No")


def test_the_cap_is_a_parameter() -> None:
    assert graded("+", {"label": "Yes", "rho": 0.75}, **WORD, cap=1.0).score == 0.75


def test_an_output_without_a_verdict_has_no_answer() -> None:
    result = graded("Yes", ITEM)
    assert (result.status, result.score) == (Status.NO_ANSWER, 0.0)
    assert "'Yes' nor 'No'" in result.reasons[0]


@pytest.mark.parametrize(("item", "field"), [
    ({"rho": 0.5}, "item.label"), ({"label": "yes", "rho": 0.5}, "item.label"), ({"label": "Yes"}, "item.rho"),
    ({"label": "Yes", "rho": 0.0}, "item.rho"), ({"label": "Yes", "rho": 1.5}, "item.rho"),
    ({"label": "Yes", "rho": True}, "item.rho"), ({"label": "Yes", "rho": "0.5"}, "item.rho"),
])
def test_a_row_that_is_no_judgement_is_our_fault(item: dict[str, Any], field: str) -> None:
    result = graded(box("Yes"), item)
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)
    assert result.reasons[0].startswith(f"{field}: found")


@pytest.mark.parametrize(("params", "field"), [
    ({"yes_text": "no"}, ""), ({"yes_text": "Yes."}, ""), ({"no_text": " No"}, ""),
    ({"yes_text": "it is", "verdict": "word"}, ""), ({"yes_text": ""}, "yes_text"), ({"cap": 0}, "cap"),
    ({"verdict": "last"}, "verdict"),
])
def test_wordings_that_cannot_be_read_are_refused(params: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as wrong:
        spec(json.dumps({"type": "verdict", **params}))
    assert [problem.field for problem in wrong.value.problems] == [field or "body"]
