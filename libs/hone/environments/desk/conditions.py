"""Conditions over two snapshots: the whole language of verification programs. A program is data that this code reads.

The source has generated programs run. Conditions are a reconstruction that needs no sandbox: they end, write nothing
and reach nothing.
"""

import re
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from hone.environments.desk.snapshots import TIMES, Snapshot, difference, text
from hone.environments.desk.times import utc


class Undecidable(Exception):
    """A snapshot lacks what a condition is about."""


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Allowed(_Read):
    """Objects that may change: a pattern of ids with `*`, and of objects that stay perhaps only some fields."""

    tool: str
    object: str
    fields: tuple[str, ...] | None = None


class Value(_Read):
    """An object that was there has a value in a field."""

    kind: Literal["value"] = "value"
    tool: str
    object: str
    field: str
    equals: Any


class Holds(_Read):
    """An object has texts in a field, whatever their case."""

    kind: Literal["holds"] = "holds"
    tool: str
    object: str
    field: str
    texts: tuple[str, ...]


class Absent(_Read):
    """An object is not there."""

    kind: Literal["absent"] = "absent"
    tool: str
    object: str


class Unchanged(_Read):
    """An object is as it was before."""

    kind: Literal["unchanged"] = "unchanged"
    tool: str
    object: str


class Count(_Read):
    """So many objects have these values in these fields, and have these texts in these fields, whatever their case."""

    kind: Literal["count"] = "count"
    tool: str
    where: dict[str, Any] = {}
    contains: dict[str, tuple[str, ...]] = {}
    least: int = 1
    most: int | None = None


class Added(_Read):
    """So many objects of a tool are new."""

    kind: Literal["added"] = "added"
    tool: str
    count: int


class OnlyAllowed(_Read):
    """Nothing but what the task allows was changed."""

    kind: Literal["only_allowed"] = "only_allowed"


class Every(_Read):
    """All of several conditions hold."""

    kind: Literal["every"] = "every"
    of: tuple["Condition", ...]


Condition = Annotated[
    Value | Holds | Absent | Unchanged | Count | Added | OnlyAllowed | Every, Field(discriminator="kind")]


def holds(condition: Condition, before: Snapshot, after: Snapshot, allowed: tuple[Allowed, ...] = ()) -> bool:
    """Return whether a condition holds. Raises Undecidable where a snapshot has no such tool."""
    match condition:
        case Every():
            each = [holds(one, before, after, allowed) for one in condition.of]  # also behind one that does not hold
            return all(each)
        case OnlyAllowed():
            return not forbidden(before, after, allowed)
        case Added():
            return sum(tool == condition.tool for tool, _ in difference(before, after).added) == condition.count
        case Unchanged():
            had, has = (_objects(one, condition.tool).get(condition.object) for one in (before, after))
            return had is not None and had == has
        case _:
            return _stands(condition, _objects(after, condition.tool))


def _stands(condition: Value | Holds | Absent | Count, objects: dict[str, dict[str, Any]]) -> bool:
    """Return whether a condition holds that is about the last state alone."""
    match condition:
        case Count():
            return _counted(condition, objects)
        case Absent():
            return condition.object not in objects
        case Holds():
            said = str(objects.get(condition.object, {}).get(condition.field, ""))
            return all(_said(one, said) for one in condition.texts)
        case Value():
            found = objects.get(condition.object, {})
            return condition.field in found and _equal(condition, condition.field, found, condition.equals)


def forbidden(before: Snapshot, after: Snapshot, allowed: tuple[Allowed, ...]) -> list[tuple[str, str]]:
    """Return (tool, id) of each object that was changed and may not be, in order."""
    found = difference(before, after)
    whole = {(tool, key) for tool, key in (*found.added, *found.removed) if not _may(allowed, tool, key, None)}
    parts = {(one.tool, one.object) for one in found.changed if not _may(allowed, one.tool, one.object, one.field)}
    return sorted(whole | parts)


def matching(condition: Count, snapshot: Snapshot) -> list[str]:
    """Return the ids of the objects that a count counts."""
    return [key for key, fields in _objects(snapshot, condition.tool).items() if _matches(condition, fields)]


def _counted(condition: Count, objects: dict[str, dict[str, Any]]) -> bool:
    count = sum(_matches(condition, fields) for fields in objects.values())
    return condition.least <= count and (condition.most is None or count <= condition.most)


def _matches(condition: Count, fields: dict[str, Any]) -> bool:
    return (all(_equal(condition, name, fields, value) for name, value in condition.where.items())
            and all(_said(part, str(fields.get(name, "")))
                    for name, parts in condition.contains.items() for part in parts))


def _said(part: str, whole: str) -> bool:
    """Return whether whole words of a text are a part's, whatever their case."""
    return re.search(rf"(?<!\w){re.escape(text(part).casefold())}(?!\w)", whole.casefold()) is not None


def _equal(condition: Value | Count, name: str, found: dict[str, Any], expected: Any) -> bool:
    if isinstance(expected, list | tuple):
        expected = sorted(text(one) for one in expected)
    elif isinstance(expected, str):
        expected = utc(expected) if name in TIMES.get(condition.tool, ()) and expected else text(expected)
    return bool(found.get(name) == expected)


def _objects(snapshot: Snapshot, tool: str) -> dict[str, dict[str, Any]]:
    if tool not in snapshot:
        raise Undecidable(f"the snapshot has no {tool}")
    return snapshot[tool]


def _may(allowed: tuple[Allowed, ...], tool: str, key: str, field: str | None) -> bool:
    return any(one.tool == tool and fnmatchcase(key, one.object) and _field(one.fields, field) for one in allowed)


def _field(fields: tuple[str, ...] | None, field: str | None) -> bool:
    """Return whether a field may change; None: the object as a whole, which only an entry without fields allows."""
    return fields is None or field in fields
