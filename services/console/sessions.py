"""Signed-in browsers and their API keys, in the memory of this process and nowhere else."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hone.client import Client
from hone.client.account_resources import Account

IDLE_S = 12 * 3600.0
"""Seconds without use after which a session ends."""

_MOST = 10_000  # sessions; the one that was used longest ago ends first
_ATTEMPTS = 2
_TIMEOUT_S = 20.0


@dataclass
class BrowserSession:
    """One signed-in browser. `dark` is its choice of a theme; None follows the system.

    `draft` is the text of a spec that is being written, `begun` the text that it began with.
    """

    client: Client
    account: Account
    clock: Callable[[], float]
    dark: bool | None = None
    draft: str = ""
    begun: str = ""
    open: bool = True
    used_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.use()

    def use(self) -> None:
        """Restart the idle time. The regular refresh of an open page does not count as use."""
        self.used_at = self.clock()

    @property
    def idle(self) -> bool:
        """Whether the session was not used for so long that it has ended."""
        return self.clock() - self.used_at > IDLE_S

    def close(self) -> None:
        """End the session; its client makes no more calls."""
        self.open = False
        self.client.close()


class BrowserSessions:
    """Sessions by the id in a browser's signed cookie. A restart of the console ends them all."""

    def __init__(self, gateway_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.gateway_url, self._clock = gateway_url, clock
        self._open: dict[str, BrowserSession] = {}

    def client(self, key: str) -> Client:
        """Return a client for a key. It gives up early, because a person waits for the answer."""
        return Client(self.gateway_url, key, timeout_s=_TIMEOUT_S, attempts=_ATTEMPTS)

    def open(self, browser: str, client: Client, account: Account) -> BrowserSession:
        """Sign a browser in with a client whose key the gateway has accepted as this account's."""
        self.close(browser)
        self._forget_idle()
        session = self._open[browser] = BrowserSession(client, account, self._clock)
        return session

    def find(self, browser: str) -> BrowserSession | None:
        """Return a browser's session if it is signed in and not idle, and restart its idle time."""
        session = self._open.get(browser)
        if session is None:
            return None
        if session.idle:
            self.close(browser)
            return None
        session.use()
        return session

    def close(self, browser: str) -> None:
        """Sign a browser out."""
        session = self._open.pop(browser, None)
        if session is not None:
            session.close()

    def _forget_idle(self) -> None:
        by_age = sorted(self._open, key=lambda browser: self._open[browser].used_at)
        idle = [browser for browser in by_age if self._open[browser].idle]
        for browser in idle + by_age[len(idle):max(len(idle), len(by_age) - _MOST + 1)]:
            self.close(browser)
