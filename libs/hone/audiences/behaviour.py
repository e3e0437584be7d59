"""Logged behaviour of users: one row for each user and exposure, with what the user did at each step of the funnel."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hone.audiences import columns
from hone.audiences.columns import PARTS, Columns, Features, Floats
from hone.spec.problems import Invalid, Problem, found

KEYS = ("merchant_id", *PARTS, "outcome")
"""Keys of every row; `week` and `user_id` may stand beside them."""
MOST_ROWS, MOST_STEPS = 100_000, 8


@dataclass(frozen=True)
class Behaviour:
    """N exposures. `outcomes` are 0 or 1 of K steps; synthetic ones may be probabilities."""

    columns: Columns
    rows: Sequence[Features]  # N
    encoded: Floats  # [N, F]
    outcomes: Floats  # [N, K]
    steps: tuple[str, ...]  # K
    merchants: NDArray[np.str_]  # [N]
    weeks: Floats  # [N]
    users: Sequence[str]  # N

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def fields(self) -> dict[str, list[float] | list[str]]:
        """Features by name: the least, mean and largest value of numbers, and the words that words have."""
        names, numbers = self.columns.names, self.columns.numbers
        spans = {name: [float(part(self.encoded[:, names.index(name)])) for part in (np.min, np.mean, np.max)]
                 for name in numbers}
        return {**spans, **{name: list(known) for name, known in self.columns.levels.items()}}

    def of(self, chosen: NDArray[np.bool_]) -> "Behaviour":
        """Return the rows for which `chosen` [N] is true, with the same columns."""
        places: list[int] = np.flatnonzero(chosen).tolist()
        return replace(
            self, rows=[self.rows[place] for place in places], encoded=self.encoded[places],
            outcomes=self.outcomes[places], merchants=self.merchants[places], weeks=self.weeks[places],
            users=[self.users[place] for place in places])


def read(rows: Iterable[Mapping[str, Any]]) -> Behaviour:
    """Return the behaviour that JSON rows hold: merchant_id, user, merchant, strategy, outcome, week and user_id.

    Without weeks all rows are of week 0. Raises Invalid, naming the row, for another key that lacks, a value that is
    no number or word, or an outcome that is not 0 or 1.
    """
    given = list(rows)
    if not 0 < len(given) <= MOST_ROWS:
        raise Invalid([Problem("dataset", f"{len(given)} rows", f"1 to {MOST_ROWS}")])
    known, steps, fields = [], tuple(_keys(given[0], 1)["outcome"]), set[str]()
    if not 0 < len(steps) <= MOST_STEPS:
        raise Invalid([Problem("row 1: outcome", f"{len(steps)} steps", f"1 to {MOST_STEPS}")])
    for number, row in enumerate(given, 1):
        one = columns.features(_keys(row, number), f"row {number}: ")
        fields = fields or set(columns.fields_of(one))
        if not fields:
            raise Invalid([Problem(f"row {number}: {', '.join(PARTS)}", "no feature", "at least one")])
        _expect_same(set(columns.fields_of(one)), fields, number)
        known.append(one)
    made = columns.of_rows(known)
    return Behaviour(
        made, known, _encoded(made, known),
        np.array([_outcome(row, steps, place) for place, row in enumerate(given, 1)]), steps,
        np.array([str(row["merchant_id"]) for row in given]),
        np.array([_week(row, place, "week" in given[0]) for place, row in enumerate(given, 1)]),
        [str(row.get("user_id", f"row {place}")) for place, row in enumerate(given, 1)])


def _keys(row: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return a row that has every key. Raises Invalid with those that lack."""
    if lacking := [key for key in KEYS if key not in row]:
        raise Invalid([Problem(f"row {number}: {key}", "nothing", f"a column of the rows: {', '.join(KEYS)}")
                       for key in lacking])
    if not isinstance(row["outcome"], Mapping):
        raise Invalid([Problem(f"row {number}: outcome", found(row["outcome"]), "an object of steps with 0 or 1")])
    return row


def _expect_same(here: set[str], first: set[str], number: int) -> None:
    if here != first:
        raise Invalid([Problem(f"row {number}: {min(here ^ first)}", "one that only some rows have" if here - first else
                               "nothing", "the same features in every row")])


def _encoded(made: Columns, rows: Sequence[Features]) -> Floats:
    encoded = np.zeros((len(rows), len(made.names)))
    for place, row in enumerate(rows):
        encoded[place] = made.encode([row], f"row {place + 1}: ")[0]
    return encoded


def _outcome(row: Mapping[str, Any], steps: Sequence[str], number: int) -> list[float]:
    outcome = row["outcome"]
    if set(outcome) != set(steps):
        raise Invalid([Problem(f"row {number}: outcome", f"the steps {', '.join(outcome)}", ", ".join(steps))])
    for step in steps:
        if outcome[step] not in (0, 1):
            raise Invalid([Problem(f"row {number}: outcome.{step}", found(outcome[step]), "0 or 1")])
    return [float(outcome[step]) for step in steps]


def _week(row: Mapping[str, Any], number: int, given: bool) -> float:
    if ("week" in row) != given:
        raise Invalid([Problem(f"row {number}: week", found(row.get("week")), "one in every row, or in none")])
    week = row.get("week", 0)
    if isinstance(week, bool) or not isinstance(week, int | float) or not math.isfinite(week):
        raise Invalid([Problem(f"row {number}: week", found(week), "a number")])
    return float(week)
