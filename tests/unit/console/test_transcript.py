"""A call's tokens with what is known of each."""

from typing import Any

import pytest

from hone.client.resources import CallTokens
from services.console import transcript

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
        '<div class="note">Underlined, with their tokens: query (2), all (1)</div>')
    assert transcript._named(CALL) == ""


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
