"""Keys stay in memory as long as their sessions are used."""

import pytest

from services.console.sessions import IDLE_S, BrowserSessions
from tests.support.console.accounts import ACCOUNT, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_browser_keeps_its_key_until_it_signs_out(clock: Clock) -> None:
    sessions = BrowserSessions("http://127.0.0.1:1", clock)
    opened = sessions.open("one", sessions.client("tml-secret-key"), ACCOUNT)
    assert sessions.find("one") is opened
    assert sessions.find("other") is None
    assert "tml-" not in repr(opened.account)
    sessions.close("one")
    assert sessions.find("one") is None
    assert not opened.open


def test_an_idle_session_is_forgotten_and_a_used_one_is_not(clock: Clock) -> None:
    sessions = BrowserSessions("http://127.0.0.1:1", clock)
    for browser in ("one", "two"):
        sessions.open(browser, sessions.client("tml-k"), ACCOUNT)
    clock.now = IDLE_S
    assert sessions.find("one")
    clock.now = IDLE_S + 1
    assert sessions.find("two") is None
    assert sessions.find("one")
