"""The tokens of a call with their figures, and the differences between contexts."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hone.client.resources import CallTokens, TrajectoryTokens
from services.console.widgets import transcript
from services.console.widgets.transcript import Stretch, difference

_IDS = st.lists(st.integers(0, 3), max_size=30)
CALL: dict[str, Any] = {"completion_ids": [5, 6], "logp_sample": [-0.5, -1.0], "train_mask": [True, False],
                        "scored": [{"name": "teacher", "logp": [-2.0, -3.0]}]}


@pytest.mark.parametrize(("changes", "words"), [
    ({}, [-2.0, -3.0]), ({"scored": []}, [None, None]), ({"scored": [{"name": "critic", "logp": [1.0, 1.0]}]},
                                                         [None, None])])
def test_tokens_carry_the_teachers_word_where_it_has_spoken(changes: dict[str, Any], words: list[float | None]) -> None:
    tokens = transcript._tokens({**CALL, **changes}, CallTokens(
        prompt=[], completion=["a", "b"], advantages=[0.25, None]))
    assert [(one.id, one.text, one.logp, one.trained, one.advantage) for one in tokens] == [
        (5, "a", -0.5, True, 0.25), (6, "b", -1.0, False, None)]
    assert [one.teacher for one in tokens] == words


def test_tokens_say_which_named_spans_they_are_in() -> None:
    spans = [{"name": "query", "start": 0, "end": 2, "weight": 2.0},
             {"name": "all", "start": 1, "end": 2, "weight": 1.0}]
    tokens = transcript._tokens({**CALL, "spans": spans}, CallTokens(prompt=[], completion=["a", "b"]))
    assert [one.spans for one in tokens] == [("query, weight 2",), ("query, weight 2", "all")]
    assert transcript._named({**CALL, "spans": spans}) == (
        '<div class="note">Underlined, with numbers of tokens: query (2), all (1)</div>')
    assert transcript._named(CALL) == ""


def test_what_harness_and_grader_gave_a_call_is_shown() -> None:
    shown = transcript._given({**CALL, "rules": {"loop": -0.1}, "scores": {"score": 1.0}, "notes": {"place": "1.0"}})
    words = ("harness: loop -0.1", "grader: score 1", "Noted: place: &#34;1.0&#34;")
    assert [word in shown for word in words] == [True] * 3
    assert transcript._given(CALL) == ""


def test_the_context_of_a_fork_is_compared_with_that_of_its_parent() -> None:
    def made(number: str, parent: str) -> dict[str, Any]:
        return {**CALL, "index": 0, "number": number, "parent": parent, "prompt_ids": [int(number[0])], "versions": []}

    sample: Any = SimpleNamespace(calls=[made("0", ""), made("1.0.0", "0"), made("1.1.0", "0")], steps=[], item={})
    shown = transcript.calls(sample, TrajectoryTokens(calls=[]))
    assert [one.before for one in shown] == [None, [0, 5, 6], [0, 5, 6]]


def test_words_of_an_endpoint_are_shown_with_its_name_and_with_why_they_were_refused() -> None:
    said = {**CALL, "index": 0, "number": "0", "role": "user", "kind": "asked", "turn": 0, "versions": [],
            "text": "W1.", "prompt_ids": [], "completion_ids": [], "logp_sample": [], "train_mask": [], "scored": [],
            "finish_reason": "stop", "sampling": {"endpoint": "customers"}, "engine": "customer-1"}
    step = {"index": 0, "call": 0, "action": "W1.", "said": [], "valid": False, "effect": None, "reward": None}
    sample: Any = SimpleNamespace(
        calls=[said, {**said, "index": 1, "number": "1", "text": "W1234."}], item={"refused": [
            {"words": "W1.", "reason": "it does not say the order"}]},
        steps=[step, {**step, "index": 1, "call": 1, "valid": True, "action": "W1234."}])
    first, second = transcript.calls(sample, TrajectoryTokens(calls=[]))
    words = first.answer("log-prob", "") + first.outcome()
    assert [word in words for word in ("user: asked", "endpoint customers: customer-1", "W1.", "refused",
                                       "it does not say the order; asked again")] == [True] * 5
    assert "asked again" not in second.outcome()
    assert first.fits("w1.")


def test_tokens_name_the_version_that_sampled_them() -> None:
    texts = CallTokens(prompt=[], completion=["a", "b"])
    spans = [{"version_id": "ver_1", "tokens": 1}, {"version_id": "ver_2", "tokens": 1}]
    assert [one.version for one in transcript._tokens({**CALL, "versions": spans}, texts)] == ["ver_1", "ver_2"]
    assert [one.version for one in transcript._tokens(CALL, texts)] == ["", ""]


def test_a_step_tells_what_each_rule_gave_it() -> None:
    step = {"index": 0, "said": [], "action": "7", "valid": True, "effect": None, "reward": -0.5,
            "rules": {"length": -1.0, "right": 0.0}}
    shown = transcript._step(step)
    assert [word in shown for word in ("reward -0.5", "length -1", "right 0")] == [True] * 3
    assert "length" not in transcript._step({**step, "rules": {}})


def test_marks_stand_on_what_was_searched_whatever_stands_before() -> None:
    assert transcript._marked("İ… Query", "query") == "İ… <mark>Query</mark>"


def test_a_longer_context_keeps_what_was_there() -> None:
    assert difference([1, 2, 3], [1, 2, 3, 4, 5]) == [Stretch("kept", 0, 3), Stretch("added", 3, 5)]


def test_what_was_dropped_is_named_by_its_place_before() -> None:
    assert difference([1, 2, 3, 4, 9], [1, 2, 9]) == [
        Stretch("kept", 0, 2), Stretch("removed", 2, 4), Stretch("kept", 2, 3)]


def test_few_tokens_that_are_alike_by_chance_are_not_kept() -> None:
    assert difference([1, 7, 2], [3, 7, 4]) == [Stretch("removed", 0, 3), Stretch("added", 0, 3)]
    same = list(range(20, 28))
    assert difference([1, *same, 2], [3, *same, 4]) == [
        Stretch("removed", 0, 1), Stretch("added", 0, 1), Stretch("kept", 1, 9), Stretch("removed", 9, 10),
        Stretch("added", 9, 10)]


def test_long_changes_are_one_stretch_each() -> None:
    before, after = list(range(3000)), list(range(5000, 8001))
    assert difference(before, after) == [Stretch("removed", 0, 3000), Stretch("added", 0, 3001)]


@given(_IDS, _IDS)
def test_both_contexts_can_be_put_together_again(before: list[int], after: list[int]) -> None:
    found = difference(before, after)
    assert [one for part in found if part.kind != "removed" for one in after[part.start:part.end]] == after
    removed = [one for part in found if part.kind == "removed" for one in before[part.start:part.end]]
    kept = [one for part in found if part.kind == "kept" for one in after[part.start:part.end]]
    assert sorted([*removed, *kept]) == sorted(before)
