"""Objects on a desk by tool and id. Tools read and write them, and an injected clock counts its steps."""

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from hone.environments.desk import times
from hone.environments.desk.permissions import REFUSALS, Permission
from hone.environments.tools import ToolError

DeskState: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Objects by their id, by the name of the tool: files, mail, calendar, contacts, notes. Never changed in place."""
CREATED = "new-"
"""Beginning of the ids that the desk gives. Snapshots replace them by natural keys."""


class DeskStore:
    """A desk in use. What a state held before a change stays as it was."""

    def __init__(
        self, state: DeskState, now: str, zone: str, owner: str, denied: Collection[Permission] = (),
    ) -> None:
        self.state, self.zone, self.owner, self._denied = state, zone, owner, denied
        self.made, self.ticks = 0, 0
        self._now = now

    @property
    def now(self) -> str:
        """The present time in UTC: a minute later after each step."""
        return times.later(self._now, minutes=self.ticks)

    def permit(self, permission: Permission) -> None:
        """Raise ToolError with the way round where the agent lacks a permission."""
        if permission in self._denied:
            raise ToolError(REFUSALS[permission])

    def objects(self, tool: str) -> Mapping[str, Mapping[str, Any]]:
        """Return the objects of a tool by their ids."""
        return self.state.get(tool, {})

    def object(self, tool: str, key: str) -> Mapping[str, Any]:
        """Return one object. Raises ToolError where there is none."""
        if key not in self.objects(tool):
            raise ToolError(f"{tool}: there is no {key[:100]}")
        return self.objects(tool)[key]

    def write(self, tool: str, key: str, **fields: Any) -> None:
        """Set fields of an object, which is made where there is none."""
        changed = {**self.objects(tool).get(key, {}), **fields}
        self.state = {**self.state, tool: {**self.objects(tool), key: changed}}

    def create(self, tool: str, **fields: Any) -> str:
        """Make an object and return its id."""
        self.made += 1
        key = f"{CREATED}{self.made}"
        self.write(tool, key, **fields)
        return key

    def remove(self, tool: str, key: str) -> None:
        """Remove an object. Raises ToolError where there is none."""
        self.object(tool, key)
        self.state = {**self.state, tool: {one: of for one, of in self.objects(tool).items() if one != key}}
