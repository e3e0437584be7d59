"""Quotas as people read and write them."""

from datetime import UTC, datetime

import pytest

from hone.client.account_resources import Quota, Quotas, Tenant
from services.console.widgets import quotas

TENANT = Tenant(id="t", name="lab", operator=False, created_at=datetime.now(UTC), max_running_groups=4096,
                max_stored_bytes=3 * 2**30, month_budget=2.5)


def test_only_what_is_limited_is_in_the_words() -> None:
    assert list(quotas.words(TENANT)) == ["4 096 groups at a time", "3 GiB stored", "2.50 a month"]


@pytest.mark.parametrize(("field", "value", "expected"), [
    ("max_stored_bytes", 1.5, 1610612736), ("max_runs", 3.0, 3), ("month_budget", 0.5, 0.5), ("max_runs", None, None),
])
def test_what_is_written_is_stored_in_the_gateway_s_units(field: str, value: float | None, expected: float) -> None:
    assert quotas.stored(field, value) == expected
    assert quotas.shown(TENANT, "max_stored_bytes") == 3.0


@pytest.mark.parametrize(("limit", "used", "expected"), [
    (10.0, 3.0, 'class="bar"'), (10.0, 8.0, 'class="bar warn"'), (10.0, 12.0, 'class="bar bad"'),
    (0.0, 0.0, "width:0.0%"), (0.0, 1.0, "width:100.0%"), (None, 3.0, "no limit"),
])
def test_a_bar_says_how_much_is_used(limit: float | None, used: float, expected: str) -> None:
    none = Quota(used=0)
    found = Quotas(max_runs=Quota(limit=limit, used=used), max_running_groups=none, max_tokens_a_day=none,
                   max_stored_bytes=none, month_budget=none, currency="EUR")
    assert expected in str(quotas.bars(found)).split("Groups sampled")[0]
