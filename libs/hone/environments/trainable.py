"""Separates the rows with given answers that a model can be trained on from those that it cannot. No row is cut."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from hone.environments.demonstrations import UnusableRow, trajectories
from hone.text.model_text import ModelText

LONG, EQUAL, UNUSABLE = "long_rows", "equal_pairs", "bad_rows"
"""Kinds of events about rows that are left out."""

_NAMED, _LONGEST = 5, 160
"""Rows that a message names, and most characters about each."""
_OVERHEAD, _TOKENS_OF_A_BYTE = 4096, 4
"""Bounds, far above what templates and tokenizers add, under which a row is shorter than the model's positions."""


class TrainableRows:
    """Counts the rows that are left out, by cause, and keeps the first ones of each."""

    def __init__(self, columns: Sequence[str], tokenizer: ModelText, positions: int) -> None:
        """`columns` hold the answers: one, or the chosen and the rejected one of a pair. 0 positions are no limit."""
        self._columns, self._tokenizer, self._positions = columns, tokenizer, positions
        self.rows, self.left_out = 0, defaultdict[str, int](int)
        self._first = defaultdict[str, list[str]](list)

    @property
    def none(self) -> bool:
        """Whether there were rows and all of them are left out."""
        return 0 < self.rows == sum(self.left_out.values())

    def takes(self, number: int, row: dict[str, Any]) -> bool:
        """Return whether the model can be trained on the row with this number."""
        self.rows += 1
        cause, why = self._fault(row)
        if cause:
            self.left_out[cause] += 1
            if len(self._first[cause]) < _NAMED:
                self._first[cause].append(f"row {number}{f': {why}' if why else ''}"[:_LONGEST])
        return not cause

    def messages(self, dataset: str) -> Iterator[tuple[str, str]]:
        """Yield kind and text of an event for each cause. Every process writes the same text."""
        causes = {LONG: f"longer than the {self._positions} positions of the model; nothing is cut off",
                  EQUAL: "pairs with two answers of the same token ids, so that neither is preferred",
                  UNUSABLE: "rows that the model cannot be trained on"}
        for kind, cause in causes.items():
            if count := self.left_out[kind]:
                first, more = "; ".join(self._first[kind]), "; …" if count > _NAMED else ""
                yield kind, (f"dataset {dataset!r}: {count} of {self.rows} rows are left out of supervised training, "
                             f"{cause}: {first}{more}")

    def _fault(self, row: dict[str, Any]) -> tuple[str, str]:
        """Return why a row cannot be trained on: kind of event and reason; ("", "") if it can."""
        if len(self._columns) == 1 and self._surely_fits(row):
            return "", ""
        try:
            made = trajectories(row, 0, self._columns, self._tokenizer)
        except UnusableRow as error:
            return UNUSABLE, str(error)
        longest = max(len(call.prompt_ids) + len(call.completion_ids) for one in made for call in one.calls)
        if 0 < self._positions < longest:
            return LONG, f"{longest} tokens"
        answers = [[call.completion_ids for call in one.calls] for one in made]
        return (EQUAL, "") if len(answers) == 2 and answers[0] == answers[1] else ("", "")

    def _surely_fits(self, row: dict[str, Any]) -> bool:
        """Whether a row is so short that it need not be tokenized to know that the model can hold it."""
        if not self._positions:
            return True
        return _TOKENS_OF_A_BYTE * len(json.dumps(row)) + _OVERHEAD <= self._positions
