"""An account, and a clock that tests set."""

from hone.client.account_resources import Account

ACCOUNT = Account(tenant_id="t1", tenant="default", operator=True, key_id="key_1", key="laptop", scopes=["read"])


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
