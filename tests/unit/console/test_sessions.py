"""Keys stay in memory as long as their sessions are used."""

import pytest

from hone.client.account_resources import Account
from services.console.sessions import IDLE_S, BrowserSessions

ACCOUNT = Account(tenant_id="t1", tenant="default", operator=True, key_id="key_1", key="laptop", scopes=["read"])


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


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
