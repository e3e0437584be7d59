"""Calls of stored samples as rows of a dataset, and back with exactly their ids."""

from typing import Any

import pytest

from hone.environments import recorded
from hone.environments.demonstrations import UnusableRow, trajectories
from hone.models import toy
from hone.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer({name: data for name, data in toy.files(0).items() if name.endswith(".json")})


def ids(text: str) -> list[int]:
    return TOKENIZER.encode(text)


def call(prompt: str, answer: str, **changes: Any) -> dict[str, Any]:
    completion = [*ids(answer), TOKENIZER.eos_id]
    return {"role": "policy", "number": "0", "prompt_ids": ids(prompt), "completion_ids": completion, "text": answer,
            "train_mask": [True] * len(completion), **changes}


FIRST = call("12+3=", "15")
SECOND = call("", "7", number="1", prompt_ids=[*FIRST["prompt_ids"], *FIRST["completion_ids"], *ids("3+4=")],
              train_mask=[True, False])
OTHERS = [call("1", "2", role="user"), call("1", "2", number="1.0.0"), call("9=", "9", number="2")]


def test_calls_come_back_with_their_ids_and_only_the_policys_own_path_is_trained() -> None:
    rows = recorded.rows([FIRST, SECOND, *OTHERS])
    assert [(row["kept"], row["prompt_ids"]) for row in rows] == [
        (0, ids("12+3=")), (len(FIRST["prompt_ids"] + FIRST["completion_ids"]), ids("3+4=")), (0, ids("9="))]
    [made] = trajectories({"prompt": "12+3=", "completion": "9", "recorded_calls": rows}, 4, ("completion",), TOKENIZER)
    assert [(one.prompt_ids, one.completion_ids, one.train_mask) for one in made.calls] == [
        (one["prompt_ids"], one["completion_ids"], one["train_mask"]) for one in (FIRST, SECOND, OTHERS[2])]
    assert (made.request_no, [one.text for one in made.calls]) == (4, ["15", "7", "9"])


@pytest.mark.parametrize(("calls", "said"), [
    ([], "found no list"), ("x", "found no list"),
    ([{}], r"recorded_calls\[0\].prompt_ids: found None, expected a value"),
    ([{"kept": 3, "prompt_ids": [], "completion_ids": ids("1"), "text": "1"}], r"\[0\].kept: found 3, expected"),
    ([{"prompt_ids": [10**6], "completion_ids": ids("1"), "text": "1"}], r"\[0\].prompt_ids: found 1000000"),
    ([{"prompt_ids": [], "completion_ids": ids("1"), "text": "2"}], "another tokenizer wrote them"),
    ([{"prompt_ids": [], "completion_ids": ids("1"), "text": "1", "trained": []}], r"\[0\].trained: found 0"),
])
def test_a_row_that_cannot_be_trained_on_says_why(calls: Any, said: str) -> None:
    with pytest.raises(UnusableRow, match=said):
        trajectories({"prompt": "1", "completion": "1", "recorded_calls": calls}, 0, ("completion",), TOKENIZER)
