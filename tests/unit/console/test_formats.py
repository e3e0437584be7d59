"""Numbers and times as texts for people."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from services.console.widgets import formats


@pytest.mark.parametrize(("value", "text"), [
    (None, "–"), (float("nan"), "–"), (0.0, "0"), (1.0, "1"), (0.51234, "0.512"), (12.345, "12.3"),
    (0.00041, "0.000410"), (2e-5, "2.00e-5"),
    (0.0051, "0.00510"), (-0.5, "-0.500"), (123456, "123456"), (1234.5, "1234"),
])
def test_number(value: float | None, text: str) -> None:
    assert formats.number(value) == text


@pytest.mark.parametrize(("value", "text"), [
    (None, "–"), (0, "0"), (512, "512"), (9812, "9 812"), (12_345, "12.3 k"), (4_100_000, "4.10 M"), (2e9, "2 B"),
    (999_999, "1000 k"),
])
def test_count(value: float | None, text: str) -> None:
    assert formats.count(value) == text


@pytest.mark.parametrize(("seconds", "text"), [
    (None, "–"), (3.21, "3.2 s"), (0.5, "0.50 s"), (61, "1 min 1 s"), (7800, "2 h 10 min"), (100_000, "1 d 3 h"),
])
def test_duration(seconds: float | None, text: str) -> None:
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(("passed_s", "text"), [
    (1, "just now"), (30, "30 s ago"), (300, "5 min ago"), (7300, "2 h ago"), (300_000, "3 d ago"),
])
def test_ago(passed_s: float, text: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert formats.ago(now - timedelta(seconds=passed_s), now) == text


@pytest.mark.parametrize(("found", "text"), [(None, "–"), (0, "0 B"), (1536, "1.50 KiB"), (5 * 2**30, "5 GiB")])
def test_size(found: float | None, text: str) -> None:
    assert formats.size(found) == text


def test_short() -> None:
    assert formats.short("abcdef", 3) == "abc…"
    assert formats.short("abcd", 3) == "abcd"
    assert formats.short(None) == "–"


def test_what_is_no_finite_number_is_shown_too() -> None:
    assert [formats.number(value) for value in (math.inf, -math.inf, math.nan)] == ["∞", "-∞", formats.ABSENT]
