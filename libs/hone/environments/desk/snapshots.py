"""Snapshots in a normal form, and what differs between two of them. The form is the spec's reconstruction."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hone.environments.desk import times
from hone.environments.desk.store import CREATED, DeskState
from hone.environments.hashing import canonical

Snapshot = dict[str, dict[str, dict[str, Any]]]
"""`{tool: {object_id: {field: value}}}`: sorted keys, UTC times, NFC text with single spaces, no volatile fields."""
VOLATILE: Mapping[str, frozenset[str]] = {
    "files": frozenset({"modified"}), "mail": frozenset({"sent", "read"}), "notes": frozenset({"modified"}),
    "calendar": frozenset({"modified"}), "contacts": frozenset({"modified"}),
}
"""Fields that the desk writes by itself."""
TIMES: Mapping[str, frozenset[str]] = {"calendar": frozenset({"start", "end", "until"})}
"""Fields that hold times."""
NATURAL_KEYS: Mapping[str, tuple[str, ...]] = {
    "mail": ("to", "subject"), "calendar": ("title", "start"), "contacts": ("name", "email"), "notes": ("title",)}
"""Fields by which an object is known that the desk gave its id. Files are known by their path."""
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Changed:
    """A field of an object that is in both snapshots; None: the object has no such field."""

    tool: str
    object: str
    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Difference:
    """Differences between two snapshots. Added and removed are (tool, object id)."""

    added: tuple[tuple[str, str], ...] = ()
    removed: tuple[tuple[str, str], ...] = ()
    changed: tuple[Changed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def touched(self) -> frozenset[tuple[str, str]]:
        """Return (tool, object id) of all that was added, removed or changed."""
        return frozenset({*self.added, *self.removed, *((one.tool, one.object) for one in self.changed)})


def normal(state: DeskState, volatile: Mapping[str, frozenset[str]] = VOLATILE) -> Snapshot:
    """Return the snapshot of a state."""
    return {tool: _renamed(tool, {
        key: {name: _value(tool, name, value) for name, value in sorted(fields.items())
              if name not in volatile.get(tool, ())}
        for key, fields in objects.items()}) for tool, objects in sorted(state.items())}


def text(value: str) -> str:
    """Return a text in NFC, with single spaces between its words."""
    return _SPACES.sub(" ", unicodedata.normalize("NFC", value)).strip()


def difference(before: Snapshot, after: Snapshot) -> Difference:
    """Return the additions, removals and changes that lead from one snapshot to the other."""
    had, has = _names(before), _names(after)
    both = sorted(had & has)
    return Difference(tuple(sorted(has - had)), tuple(sorted(had - has)), tuple(
        one for tool, key in both if before[tool][key] != after[tool][key]
        for one in _changed(tool, key, before[tool][key], after[tool][key])))


def described(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Return a difference as JSON, with the added objects whole, so that `applied` makes the second snapshot of it."""
    found = difference(before, after)
    return {"added": [[tool, key, after[tool][key]] for tool, key in found.added],
            "removed": [[tool, key] for tool, key in found.removed],
            "changed": [[one.tool, one.object, one.field, one.before, one.after] for one in found.changed]}


def applied(before: Snapshot, change: Mapping[str, Any]) -> Snapshot:
    """Return the snapshot after a described difference. Raises KeyError where it is not of this snapshot."""
    objects = {tool: {key: dict(fields) for key, fields in of.items()} for tool, of in before.items()}
    for tool, key in change["removed"]:
        del objects[tool][key]
    for tool, key, name, _, value in change["changed"]:
        objects[tool][key][name] = value
    for tool, key, fields in change["added"]:
        objects[tool][key] = fields
    return {tool: {key: {name: value for name, value in fields.items() if value is not None}
                   for key, fields in sorted(of.items())} for tool, of in objects.items()}


def natural_key(tool: str, fields: Mapping[str, Any]) -> str:
    """Return the key of an object in its normal form that the desk gave its id."""
    parts = [fields.get(name, "") for name in NATURAL_KEYS[tool]]
    return " | ".join(", ".join(part) if isinstance(part, list) else str(part) for part in parts)


def _renamed(tool: str, objects: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return objects under their ids, and under natural keys where the desk gave the id. Twins are numbered."""
    named = {key: fields for key, fields in objects.items() if tool not in NATURAL_KEYS or not key.startswith(CREATED)}
    fresh = sorted((fields for key, fields in objects.items() if key not in named), key=canonical)
    for fields in fresh:
        key = natural_key(tool, fields)
        twins = sum(name == key or name.startswith(f"{key} #") for name in named)
        named[f"{key} #{twins + 1}" if twins else key] = fields
    return dict(sorted(named.items()))


def _value(tool: str, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return sorted(_value(tool, name, one) for one in value)
    if not isinstance(value, str):
        return value
    return times.utc(value) if value and name in TIMES.get(tool, ()) else text(value)


def _names(snapshot: Snapshot) -> set[tuple[str, str]]:
    return {(tool, key) for tool, objects in snapshot.items() for key in objects}


def _changed(tool: str, key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Changed]:
    return [Changed(tool, key, name, before.get(name), after.get(name))
            for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
