"""Moments on the command line."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hone.cli.moments import moment
from hone.spec.problems import Invalid


@pytest.mark.parametrize(("text", "meant"), [
    (None, None),
    ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
    ("2026-01-31T12:30", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    ("2026-01-31T12:30:00Z", datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
    ("2026-01-31T12:30+02:00", datetime(2026, 1, 31, 12, 30, tzinfo=timezone(timedelta(hours=2)))),
])
def test_a_moment_without_an_offset_is_utc(text: str | None, meant: datetime | None) -> None:
    assert moment("--since", text) == meant


@pytest.mark.parametrize(("text", "ago"), [
    ("90s", timedelta(seconds=90)), ("30m", timedelta(minutes=30)), ("2h", timedelta(hours=2)),
    ("7d", timedelta(days=7)), ("1w", timedelta(weeks=1))])
def test_how_long_ago(text: str, ago: timedelta) -> None:
    found = moment("--since", text)
    assert found is not None
    assert timedelta() <= datetime.now(UTC) - ago - found < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["", "yesterday", "7 days", "2026-13-01", "99999999d"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="--since"):
        moment("--since", text)
