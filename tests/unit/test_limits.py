"""Which limit a run has reached, in the words that its user reads."""

import threading
from typing import Any, cast

import pytest

from hone.limits import reached
from services.learner.driver.limits import TenantFigures

FREE: dict[str, Any] = {
    "suspended": False, "currency": "EUR", "budget": None, "cost": None, "month_budget": None, "month_cost": None,
    "max_tokens_a_day": None, "tokens_a_day": None, "max_stored_bytes": None, "stored_bytes": None}


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
    ({"max_stored_bytes": 1000, "stored_bytes": 999}, None),
    ({"max_stored_bytes": 1000, "stored_bytes": 1000},
     "room in its tenant's storage or a higher quota: its tenant's 1000 bytes of storage are used up "
     "(max_stored_bytes)"),
    ({"suspended": True, "budget": 5.0, "cost": 6.0}, "its tenant to be resumed: its tenant is suspended"),
])
def test_the_first_limit_that_is_reached(figures: dict[str, Any], words: str | None) -> None:
    found = reached({**FREE, **figures})
    assert words == (None if found is None else str(found))


class Slow:
    """A database whose sums take two seconds of its own clock."""

    def __init__(self) -> None:
        self.asked, self.now = 0, 1000.0

    def one(self, *_: object, **__: object) -> dict[str, int]:
        self.asked += 1
        self.now += 2
        return {"asked": self.asked}


def test_sums_over_a_tenant_are_shared_by_its_runs_and_take_a_tenth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = Slow()
    monkeypatch.setattr("services.learner.driver.limits.time.monotonic", lambda: database.now)
    figures = TenantFigures(cast(Any, database), every_s=60)
    assert [figures.of("ten_a", changed) for changed in (True, True, False, False)] == [{"asked": 1}] * 4
    assert figures.of("ten_b", changed=False) == {"asked": 2}
    database.now += 15.9
    assert figures.of("ten_a", changed=True) == {"asked": 1}, "17.9 s after a sum of 2 s"
    database.now += 0.1
    assert figures.of("ten_a", changed=False) == {"asked": 1}
    assert figures.of("ten_a", changed=True) == {"asked": 3}
    database.now += 60
    assert figures.of("ten_a", changed=False) == {"asked": 4}


def test_no_run_waits_for_the_sums_of_another_tenant() -> None:
    asked, go_on = threading.Event(), threading.Event()

    class Stuck:
        def one(self, *_: object, tenant: str, **__: object) -> dict[str, str]:
            if tenant == "ten_large":
                asked.set()
                assert go_on.wait(30)
            return {"of": tenant}

    figures = TenantFigures(cast(Any, Stuck()), every_s=0)
    reading = threading.Thread(target=figures.of, args=("ten_large", True))
    reading.start()
    assert asked.wait(30)
    assert figures.of("ten_small", changed=True) == {"of": "ten_small"}
    go_on.set()
    reading.join()
    asked.clear()
    go_on.clear()
    again = threading.Thread(target=figures.of, args=("ten_large", True))
    figures._known["ten_large"].took_s = 0.0
    again.start()
    assert asked.wait(30)
    assert figures.of("ten_large", changed=True) == {"of": "ten_large"}, "the last figures, while newer ones are read"
    go_on.set()
    again.join()
