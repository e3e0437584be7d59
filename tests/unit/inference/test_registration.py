"""The load that an engine process reports."""

import pytest

from services.inference.registration import Load


def test_load_is_the_share_of_the_last_second_that_was_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("services.inference.registration.time.monotonic", lambda: now)
    load = Load()
    load.add(0.5)
    assert load.share() == 0.0  # no second has passed yet
    now = 102.0
    assert load.share() == 0.25
    now = 102.5
    load.add(0.5)
    assert load.share() == 0.25  # the same until a second has passed again
    now = 103.0
    load.add(9.0)  # counted late
    assert load.share() == 1.0
