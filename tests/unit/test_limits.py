"""Which limit a run has reached, in the words that its user reads."""

from typing import Any

import pytest

from hone.limits import reached

FREE: dict[str, Any] = {
    "suspended": False, "currency": "EUR", "budget": None, "cost": None, "month_budget": None, "month_cost": None,
    "max_tokens_a_day": None, "tokens_a_day": None}


@pytest.mark.parametrize(("figures", "words"), [
    ({}, None),
    ({"budget": 5.0, "cost": 4.99}, None),
    ({"budget": 5.0, "cost": 5.0}, "a higher budget: its budget of 5.00 EUR is used up"),
    ({"budget": 0.0, "cost": 0.0}, "a higher budget: its budget of 0.00 EUR is used up"),
    ({"month_budget": 0.004, "month_cost": 0.005},
     "a higher budget or the next month of UTC: its tenant's budget of 0.004 EUR for this month is used up"),
    ({"max_tokens_a_day": 1000, "tokens_a_day": 1001.0},
     "the next day of UTC or a higher quota: its tenant's 1000 tokens for this day are used up (max_tokens_a_day)"),
    ({"max_tokens_a_day": 1000, "tokens_a_day": 999.0}, None),
    ({"suspended": True, "budget": 5.0, "cost": 6.0}, "its tenant to be resumed: its tenant is suspended"),
])
def test_the_first_limit_that_is_reached(figures: dict[str, Any], words: str | None) -> None:
    found = reached({**FREE, **figures})
    assert words == (None if found is None else str(found))
