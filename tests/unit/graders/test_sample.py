"""Graders that read the whole conversation, the group, or the world; and what is sent of a sample."""

import json
from dataclasses import replace
from typing import Any

import pytest

from hone.graders.contract import Result, Status
from hone.graders.judgement import judged, judged_together
from hone.graders.sample import Conversation, Reads, Sample, Sent, Spoken, World, conversation, received
from hone.graders.specs import Spec, spec
from hone.spec.problems import Invalid
from hone.trajectory.records import Call, Step

ROW = {"answer": "42"}
HEAVY = {"type": "each_call", "grader": {"type": "exact"}, "kinds": ["attempt", "deliberate"],
         "decide": ["deliberate"]}


def grader(**given: Any) -> Spec:
    return spec(json.dumps(given))


def spoken(*calls: tuple[str, str]) -> Sample:
    calls_made = [Spoken(number=str(place), kind=kind, text=text) for place, (kind, text) in enumerate(calls)]
    return Sample(ROW, calls_made[-1].text, conversation=Conversation(calls=calls_made))


def test_each_call_is_graded_and_some_decide() -> None:
    sample = spoken(("attempt", "41"), ("attempt", "42"), ("plan", "42"), ("deliberate", "42"), ("deliberate", ""))
    [result] = judged_together(grader(**HEAVY), [sample])
    assert (result.status, result.score) == (Status.OK, 0.5)
    assert dict(result.components) == {
        "attempt": 0.5, "attempt.best": 1.0, "attempt.vote": 0.5,  # two answers, one vote each
        "deliberate": 0.5, "deliberate.best": 1.0, "deliberate.vote": 1.0}  # an empty one has no vote
    assert result.turns == {"0": {"score": 0.0}, "1": {"score": 1.0}, "3": {"score": 1.0}, "4": {"score": 0.0}}


@pytest.mark.parametrize(("join", "score"), [("mean", 2 / 3), ("best", 1.0), ("last", 0.0)])
def test_scores_of_calls_are_joined(join: str, score: float) -> None:
    sample = spoken(("answer", "42"), ("answer", "42"), ("answer", "1"))
    [result] = judged_together(grader(type="each_call", grader={"type": "exact"}, join=join), [sample])
    assert result.score == score


def test_a_call_without_a_score_masks_the_sample_and_is_named() -> None:
    sample = replace(spoken(("answer", "42")), item={})
    [result] = judged_together(grader(type="each_call", grader={"type": "exact"}), [sample])
    assert (result.status, result.score, result.turns) == (Status.INVALID_SPEC, None, {})
    assert result.reasons[0].startswith("call 0: ")


def test_a_sample_whose_calls_do_not_decide_has_no_answer() -> None:
    assert judged_together(grader(**HEAVY), [spoken(("attempt", "42"))])[0].status is Status.NO_ANSWER


def test_a_grader_of_conversations_says_that_it_lacks_one() -> None:
    assert judged(grader(**HEAVY), ROW, "42").status is Status.INVALID_SPEC


def concise(*outputs: str, weight: float = 0.2) -> list[Result]:
    return judged_together(grader(type="concise", grader={"type": "exact"}, weight=weight),
                           [Sample(ROW, output) for output in outputs])


def test_short_right_answers_get_more_and_wrong_ones_no_bonus() -> None:
    results = concise("42", "42    ", "1", "wrong!")
    assert [result.score for result in results] == pytest.approx([1.06, 0.9, 0.0, -0.1])
    assert results[0].components == pytest.approx({"right": 1.0, "length": 0.06})


def test_equal_lengths_and_a_group_of_one_change_nothing() -> None:
    assert [result.score for result in concise("42", "41")] == [1.0, 0.0]
    assert judged(grader(type="concise", grader={"type": "exact"}), ROW, "42").score == 1.0


def test_a_group_grader_cannot_be_a_part() -> None:
    inside = {"type": "concise", "grader": {"type": "exact"}}
    with pytest.raises(Invalid, match="expected a grader of single samples"):
        grader(type="weighted", parts={"a": {"grader": inside}})


def world(before: dict[str, Any], after: dict[str, Any]) -> Sample:
    return Sample(ROW, "", world=World(before=before, after=after))


@pytest.mark.parametrize(("after", "score", "reasons"), [
    ({"rows": [{"n": "42"}], "kept": {"a": 1}}, 1.0, ()),
    ({"rows": [{"n": 42}], "kept": {"a": 1}}, 1.0, ()),  # JSON is compared as text
    ({"rows": [], "kept": {"a": 1}}, 0.0, ("rows.0.n is not as expected",)),
    ({"rows": [{"n": "42"}], "kept": {}}, 0.0, ("kept is not as expected",)),
])
def test_a_state_is_as_expected_and_nothing_else_changed(
    after: dict[str, Any], score: float, reasons: tuple[str, ...]
) -> None:
    state = grader(type="state", expected={"rows.0.n": "{{ item.answer }}"}, unchanged=["kept"])
    [result] = judged_together(state, [world({"rows": [], "kept": {"a": 1}}, after)])
    assert (result.score, result.reasons) == (score, reasons)


def test_what_cannot_be_unchanged_is_no_fault_of_the_policy() -> None:
    [result] = judged_together(grader(type="state", unchanged=["table"]), [world({"database": 1}, {"database": 1})])
    assert (result.status, result.score) == (Status.INVALID_SPEC, None)
    assert "table" in result.reasons[0]
    with pytest.raises(Invalid):
        grader(type="state")


def test_a_whole_grader_names_what_its_parts_read_and_give() -> None:
    whole = grader(type="weighted", parts={"all": {"grader": {"type": "state", "unchanged": ["a"]}},
                                           "right": {"grader": {"type": "math"}}})
    assert whole.reads == {Reads.WORLD}
    assert whole.pooled
    assert whole.components == {"all", "right", "all.a"}
    assert grader(**HEAVY).reads == {Reads.CONVERSATION}
    assert grader(**HEAVY).turn_scores == {"score"}


def test_what_was_sent_is_what_was_said() -> None:
    call = Call(0, [1], [2], [-0.5], "length", [], "b</t>", [True], number="0", notes={"k": 1}, begun="<t>a")
    step = Step(0, 0, "act", [{"role": "user", "content": "x"}], "h", "s", valid=True, effect=False)
    whole = conversation([call], [step], "max_turns", lambda text: [("t", 0, len(text))])
    [sample] = received([Sent("", "b", conversation=whole.model_dump_json())])
    assert sample.conversation == whole
    [spoken] = whole.policy
    assert (spoken.text, spoken.truncated, spoken.inside("t")) == ("<t>ab</t>", True, ["<t>ab</t>"])
    assert [step.effect for step in whole.after(spoken)] == [False]
