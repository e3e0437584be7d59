"""How much of an engine callers from outside get while training runs sample: requests of tenants, beside those of runs.

Nobody from outside is slowed while no run samples. While one does, an engine that runs and callers both ask has at most
a share of its sequences from outside, and engines that only callers ask get that share of the engines' time.
"""


from services.inference.requests import Request

_MOST_CREDIT_S = 0.5
"""Most time that engines without runs may have left from before: nobody saves up for long."""


def from_outside(request: Request) -> bool:
    """Return whether a tenant's caller made a request, and not a run."""
    return bool(request.tenant_id)


def most_guests(runs: int, share: float) -> int:
    """Return how many sequences from outside may make tokens beside `runs` sequences of runs: at least one."""
    return max(1, int(runs * share / (1 - share)))


class TimeShare:
    """The time of engines that only callers from outside ask, as a share of the time of all."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._credit_s = 0.0

    def spend(self, seconds: float, for_runs: bool) -> None:
        """Note the time of a step. Time for runs gives time to others."""
        earned = seconds * self._share / (1 - self._share) if for_runs else -seconds
        self._credit_s = min(_MOST_CREDIT_S, self._credit_s + earned)

    def forgive(self) -> None:
        """No run samples: what was spent meanwhile counts no more."""
        self._credit_s = max(0.0, self._credit_s)

    @property
    def left(self) -> bool:
        """Whether an engine that only callers from outside ask may take a step now."""
        return self._credit_s > 0
