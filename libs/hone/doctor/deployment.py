"""Subjects of the checks: the stack of a state directory, and the servers that the settings name."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hone.spec import settings as service_settings
from hone.spec.settings import Settings
from hone.stack import lock
from hone.stack.record import Record, StackMissing, load


@dataclass(frozen=True)
class Deployment:
    """The settings of this machine, and the stack in `state` if there is one. `running`: whether it runs now."""

    state: Path
    environment: Mapping[str, str]
    settings: Settings
    record: Record | None
    running: bool

    @property
    def database_url(self) -> str:
        """URL of the database that is given or that runs; empty if `hone up` would start one."""
        return self.settings.database_url or (self.record.database_url if self.record and self.running else "")

    @property
    def broker_url(self) -> str:
        """URL of the broker; empty if `hone up` would make a folder for it."""
        return self.settings.broker_url or (self.record.broker_url if self.record else "")

    @property
    def objects_url(self) -> str:
        """URL of the object store; empty if `hone up` would make a folder for it."""
        return self.settings.objects_url or (self.record.objects_url if self.record else "")

    @property
    def gateway(self) -> tuple[str, str] | None:
        """URL of the gateway and a key for it, if both are known."""
        url, key = self.environment.get("HONE_URL", ""), self.environment.get("HONE_API_KEY", "")
        if url and key:
            return url, key
        if not url and self.record and self.running:
            return self.record.gateway_url, key or self.record.api_key
        return None


def find(state: Path, environment: Mapping[str, str]) -> Deployment:
    """Return the subjects of the checks. Raises Invalid with every wrong setting."""
    try:
        record = load(state)
    except StackMissing:
        record = None
    given = service_settings.resolved(environment)
    return Deployment(state, given, service_settings.read(environment), record, lock.holder(state) is not None)
