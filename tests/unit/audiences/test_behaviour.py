"""Rows of logged behaviour: what is read, and which field a refusal names."""

from typing import Any

import pytest

from hone.audiences.behaviour import read
from hone.spec.problems import Invalid

ROW: dict[str, Any] = {
    "merchant_id": "m1", "week": 3, "user": {"loyalty": 0.5, "new": True}, "merchant": {"category": "tea"},
    "strategy": {"discount": 0.1}, "outcome": {"click": 1, "order": 0}}


def test_rows_become_numbers() -> None:
    cafe = {**ROW, "merchant": {"category": "cafe"}, "user_id": "u7"}
    found = read([ROW, cafe])
    assert found.columns.names == (
        "user.loyalty", "user.new", "strategy.discount", "merchant.category=cafe", "merchant.category=tea")
    assert found.encoded.tolist() == [[0.5, 1.0, 0.1, 0.0, 1.0], [0.5, 1.0, 0.1, 1.0, 0.0]]
    assert (found.steps, found.outcomes.tolist()) == (("click", "order"), [[1.0, 0.0], [1.0, 0.0]])
    assert found.users == ["row 1", "u7"]


@pytest.mark.parametrize(("change", "message"), [
    ({"week": None}, "row 2: week: found nothing, expected a number"),
    ({"week": float("nan")}, "row 2: week: found NaN"),
    ({"user": {"loyalty": float("nan"), "new": True}}, "row 2: user.loyalty: found NaN, expected a finite number"),
    ({"user": {"loyalty": -1e300, "new": True}}, "found -1e.300, expected a number from -1e.30 to"),
    ({"user": {"loyalty": 10**400, "new": True}}, "row 2: user.loyalty: found 1000"),
    ({"user": {"loyalty": [1], "new": True}}, r"row 2: user.loyalty: found \[1\]"),
    ({"user": {"loyalty": 0.5}}, "row 2: user.new: found nothing, expected the same features in every row"),
    ({"user": {"loyalty": 0.5, "new": 1, "x": 1}}, "row 2: user.x: found one that only some rows have"),
    ({"merchant": {"category": 7}}, "row 2: merchant.category: found 7.0, expected a word"),
    ({"strategy": {"discount": "much"}}, "row 2: strategy.discount: found \"much\", expected a number"),
    ({"merchant": "tea"}, "row 2: merchant: found \"tea\", expected an object"),
    ({"outcome": {"click": 1}}, "row 2: outcome: found the steps click, expected click, order"),
    ({"outcome": {"click": 1, "order": 0.5}}, "row 2: outcome.order: found 0.5, expected 0 or 1"),
    ({"outcome": 1}, "row 2: outcome: found 1, expected an object"),
])
def test_a_wrong_row_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        read([ROW, {**ROW, **change}])


def test_weeks_may_lack_but_not_in_some_rows() -> None:
    bare = {key: value for key, value in ROW.items() if key != "week"}
    assert read([bare, bare]).weeks.tolist() == [0.0, 0.0]
    for rows in ([ROW, bare], [bare, ROW]):
        with pytest.raises(Invalid, match=r"row 2: week: found .*, expected one in every row, or in none"):
            read(rows)


def test_columns_that_lack_are_all_named() -> None:
    with pytest.raises(Invalid) as refused:
        read([{"prompt": "2+3="}])
    assert [one.field for one in refused.value.problems] == [
        f"row 1: {name}" for name in ("merchant_id", "user", "merchant", "strategy", "outcome")]
    with pytest.raises(Invalid, match="dataset: found 0 rows"):
        read([])
    with pytest.raises(Invalid, match="row 1: user, merchant, strategy: found no feature, expected at least one"):
        read([{**ROW, "user": {}, "merchant": {}, "strategy": {}}])
    with pytest.raises(Invalid, match="row 1: outcome: found 0 steps"):
        read([{**ROW, "outcome": {}}])
