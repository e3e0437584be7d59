"""The shape of a spec: its keys, types and values one by one. What can be read is read beside what is wrong."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast

from pydantic import ValidationError

from hone.spec.parameters import Strict
from hone.spec.problems import Invalid, Problem, from_finding, model_at, path
from hone.spec.run import RunSpec

_STAND_INS: dict[tuple[str | int, ...], Any] = {
    ("name",): "unnamed", ("model",): {"base": "unknown"}, ("model", "base"): "unknown",
    ("task",): {"environment": "sort_digits"}, ("steps",): 1}
"""Values of required fields that cannot be read. Nothing that reads such a field is checked."""


_OPENED = ("batch", "sampling", "eval", "roles", "contexts", "optimizer")
"""Objects of a spec whose fields are watched one by one."""


@dataclass(frozen=True)
class Shape:
    """The readable part of a spec, its problems, and the paths of fields that have a default or a stand-in instead."""

    spec: RunSpec
    problems: Sequence[Problem]
    unread: frozenset[str]


def read(raw: dict[str, Any]) -> Shape:
    """Return the shape of a spec. Raises Invalid with the problems of a spec of which nothing can be read."""
    rest, problems, unread = copy.deepcopy(raw), list[Problem](), set[str]()
    while True:
        try:
            return Shape(RunSpec.model_validate(rest, strict=True), problems, frozenset(unread))
        except ValidationError as error:
            findings = [cast(dict[str, Any], finding) for finding in error.errors(include_url=False)]
        found = [from_finding(finding, RunSpec) for finding in findings]
        problems += [problem for problem in found if not covered(problem.field, unread)]
        before = copy.deepcopy(rest)
        for finding in findings:
            unread |= _remove(rest, tuple(finding["loc"]), finding["type"] == "extra_forbidden")
        if rest == before:
            raise Invalid(problems)


def covered(field: str, paths: Collection[str]) -> bool:
    """Return whether a field of a spec is one of `paths`, is inside one, or contains one."""
    return any(_inside(field, one) or _inside(one, field) for one in paths)


def _inside(field: str, outer: str) -> bool:
    return field == outer or field.startswith((f"{outer}.", f"{outer}["))


def _remove(rest: dict[str, Any], location: tuple[str | int, ...], unknown: bool) -> set[str]:
    """Take a field out of a spec, or put a stand-in there; return the paths of the fields that are unread by that.

    A field that is required inside an object takes the object with it, and an item of a list takes the list.
    """
    for end in range(len(location), 0, -1):
        owner, key = _value(rest, location[:end - 1]), location[end - 1]
        if not isinstance(owner, dict):
            continue
        if location[:end] in _STAND_INS and not unknown:
            owner[key] = copy.deepcopy(_STAND_INS[location[:end]])
        elif key in owner:
            del owner[key]
        else:
            continue
        return _meant(location) if unknown else {path(location[:end])}
    return set()  # what another problem of the same place took out already


def _value(rest: Any, location: Sequence[str | int]) -> Any:
    """Return the value at a location; None if there is none."""
    for part in location:
        inside = part in rest if isinstance(rest, dict) else isinstance(rest, list) and part in range(len(rest))
        if not inside:
            return None
        rest = rest[part]
    return rest


def _meant(location: tuple[str | int, ...]) -> set[str]:
    """Return the path of the known key that an unknown one is nearest to, if one is near."""
    owner = model_at(RunSpec, location[:-1])
    near = get_close_matches(str(location[-1]), owner.model_fields, n=1) if owner else []
    return {path([*location[:-1], *near])} if near else set()


class Watched:
    """A spec, or an object of it, that remembers the paths of the fields that were read."""

    def __init__(self, spec: Strict, at: str = "", fields: set[str] | None = None) -> None:
        self._spec, self._at, self.fields = spec, at, set[str]() if fields is None else fields

    def __getattr__(self, name: str) -> Any:
        value, at = getattr(self._spec, name), f"{self._at}.{name}" if self._at else name
        if not self._at and name in _OPENED and value is not None:
            return Watched(value, at, self.fields)
        self.fields.add(at)
        return value
