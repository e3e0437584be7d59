"""Rows with given answers that a model cannot be trained on are counted and named, and never cut."""

from typing import Any

import pytest

from hone.environments.trainable import TrainableRows
from hone.text.rules import TextRules
from hone.text.tokenizer import Tokenizer
from tests.unit.text.styles import STYLES, files

TOKENIZER = Tokenizer(files(STYLES["qwen3"]), TextRules(date="2026-01-31"))


def length(row: dict[str, Any]) -> int:
    prompt, answer = TOKENIZER.answer_ids([{"role": "user", "content": row["prompt"]}],
                                          {"role": "assistant", "content": row["completion"]}, ())
    return len(prompt) + len(answer)


def row(count: int) -> dict[str, Any]:
    return {"prompt": "count", "completion": "1 2 " * count}


def test_rows_longer_than_the_positions_are_named_with_their_lengths() -> None:
    rows = [row(1), row(30), row(2), *[row(40)] * 6]
    sieve = TrainableRows(("completion",), TOKENIZER, length(row(30)) - 1)
    assert [sieve.takes(number, one) for number, one in enumerate(rows, 1)] == [True, False, True] + [False] * 6
    [(kind, message)] = sieve.messages("rows")
    assert kind == "long_rows"
    assert message.startswith(
        f"dataset 'rows': 7 of 9 rows are left out of supervised training, longer than the {length(row(30)) - 1} "
        f"positions of the model; nothing is cut off: row 2: {length(row(30))} tokens; "
        f"row 4: {length(row(40))} tokens; ")
    assert message.endswith("; …")
    assert not sieve.none


@pytest.mark.parametrize("positions", [length(row(30)), 1 << 20, 0])
def test_a_row_that_fits_exactly_or_that_no_bound_limits_is_taken(positions: int) -> None:
    sieve = TrainableRows(("completion",), TOKENIZER, positions)
    assert sieve.takes(1, row(30))
    assert list(sieve.messages("rows")) == []


def test_pairs_of_equal_ids_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [{"prompt": "a", "chosen": "42", "rejected": "42 "}, {"prompt": "a", "chosen": "42", "rejected": "43"}]
    asked = TOKENIZER.answer_ids
    monkeypatch.setattr(TOKENIZER, "answer_ids", lambda messages, answer, tools: asked(  # as a tokenizer that strips
        messages, {**answer, "content": answer["content"].strip()}, tools))
    sieve = TrainableRows(("chosen", "rejected"), TOKENIZER, 0)
    assert [sieve.takes(number, pair) for number, pair in enumerate(pairs, 1)] == [False, True]
    [(kind, message)] = sieve.messages("rows")
    assert kind == "equal_pairs"
    assert "1 of 2 rows are left out of supervised training, pairs with two answers of the same token ids" in message


def test_when_no_row_is_left_that_is_known() -> None:
    sieve = TrainableRows(("completion",), TOKENIZER, 4)
    assert not sieve.none
    assert not sieve.takes(1, row(1))
    assert sieve.none
