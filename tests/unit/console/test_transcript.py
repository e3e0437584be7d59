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
    tokens = transcript._tokens({**CALL, **changes}, CallTokens(prompt=[], completion=["a", "b"]), 0.25)
    assert [(one.id, one.text, one.logp, one.trained, one.advantage) for one in tokens] == [
        (5, "a", -0.5, True, 0.25), (6, "b", -1.0, False, 0.25)]
    assert [one.teacher for one in tokens] == words
